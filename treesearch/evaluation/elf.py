"""What the dynamic loader would look up by name for a shared object that is not to be trusted.

It reads what the loader reads, and nothing else: program headers, the dynamic section and the relocations. Section
headers and the symbol hash, which other tools go by, say nothing about what is bound at load time, and a source text
can put words of its own there. 64-bit little-endian files only, as all machines with a kernel language here have.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

LOAD, DYNAMIC, STACK = 1, 2, 0x6474E551
EXECUTABLE, WRITABLE = 1, 2
SHARED_OBJECT = 3
PAGE = 4096
END, NEEDED, STRTAB, SYMTAB, RELA, RELASZ, REL, PLTREL, JMPREL, PLTRELSZ = 0, 1, 5, 6, 7, 8, 17, 20, 23, 2
TEXTREL, FLAGS, HAS_TEXTREL = 22, 30, 4
PATHS = {15: "RPATH", 29: "RUNPATH", 0x6FFFFEFA: "CONFIG", 0x6FFFFEFB: "DEPAUDIT", 0x6FFFFEFC: "AUDIT"}
FILTERS = {0x7FFFFFFD: "AUXILIARY", 0x7FFFFFFF: "FILTER"}
"""Tags of the dynamic section that make the loader look elsewhere than in the libraries that are needed."""
RELOCATION_BYTES, SYMBOL_BYTES = 24, 24
LOCAL = 0
"""Binding of symbols that no other file sees."""
HIDDEN = (1, 2)
"""Visibility, internal or hidden, of symbols that are bound without a look-up."""
LONGEST_NAME = 4096
MOST_HEADERS, MOST_ENTRIES, MOST_RELOCATIONS = 64, 1024, 1 << 20


class Malformed(Exception):
    """The file is not a shared object as linkers make them. The text says in what."""


@dataclass(frozen=True)
class Dynamic:
    """What is resolved when a library is loaded. Names are without their versions."""

    needed: tuple[str, ...]
    """Libraries, as named."""
    redirections: tuple[str, ...]
    """Names of the entries, such as RUNPATH, that change where libraries or symbols are looked for."""
    imported: frozenset[str]
    """Symbols looked up that the library does not define, weak ones included."""
    own: frozenset[str]
    """Symbols that it does define and that are looked up nevertheless: a namesake in the process comes first."""
    changes_code: bool
    """It asks for memory that is both written and executed: a segment, the stack, or code with relocations."""


def read(library: Path) -> Dynamic:
    """Raises Malformed for what is no such file, OSError for what cannot be read."""
    image = _Image(library.read_bytes())
    entries = image.dynamic()
    symbols = _Symbols(image, entries)
    imported, own = symbols.looked_up()
    redirections = tuple(name for tag, name in {**PATHS, **FILTERS}.items() if entries[tag])
    needed = tuple(symbols.text(offset) for offset in entries[NEEDED])
    relocates_code = bool(entries[TEXTREL]) or any(value & HAS_TEXTREL for value in entries[FLAGS])
    return Dynamic(needed, redirections, imported, own, image.changes_code or relocates_code)


class _Image:
    """The file as it will lie in memory."""

    def __init__(self, content: bytes) -> None:
        if content[:7] != b"\x7fELF\x02\x01\x01" or len(content) < 64:
            raise Malformed("it is no 64-bit ELF file")
        self.content = content
        headers = self._headers()
        self.segments = [(address, offset, size) for kind, _, offset, address, _, size, *_ in headers if kind == LOAD]
        both = EXECUTABLE | WRITABLE
        self.changes_code = any(kind in (LOAD, STACK) and flags & both == both for kind, flags, *_ in headers)
        self.dynamics = [(address, size) for kind, _, _, address, _, size, *_ in headers if kind == DYNAMIC]
        self._check_order()

    def _headers(self) -> list[tuple[int, ...]]:
        kind, start = struct.unpack_from("<H14xQ", self.content, 16)
        size, count = struct.unpack_from("<HH", self.content, 54)
        if kind != SHARED_OBJECT or size != 56 or count > MOST_HEADERS or start + size * count > len(self.content):
            raise Malformed("its headers are not those of a shared object")
        return [struct.unpack_from("<IIQQQQQQ", self.content, start + size * index) for index in range(count)]

    def _check_order(self) -> None:
        """A later segment is mapped over an earlier one, by whole pages: no byte may have two meanings."""
        end = 0
        for address, offset, size in self.segments:
            if address // PAGE * PAGE < end or offset + size > len(self.content):
                raise Malformed("its segments overlap, or end beyond the file")
            end = address + size

    def place(self, address: int, size: int) -> int:
        """Where in the file the bytes at an address are."""
        for start, offset, length in self.segments:
            if start <= address and address + size <= start + length:
                return offset + address - start
        raise Malformed("it refers to what is not in it")

    def at(self, address: int, size: int) -> bytes:
        place = self.place(address, size)
        return self.content[place : place + size]

    def name(self, address: int) -> str:
        start = self.place(address, 1)
        end = self.content.find(b"\0", start, start + LONGEST_NAME)
        found = self.content[start:end]
        if end < 0 or not found.isascii() or not found.decode().isprintable():
            raise Malformed("it refers to something with a name that is none")
        self.place(address, end - start + 1)
        return found.decode()

    def dynamic(self) -> dict[int, list[int]]:
        """The dynamic section's values by tag. Only libraries may be named more than once: of others, which counts?"""
        if len(self.dynamics) != 1:
            raise Malformed(f"it has {len(self.dynamics)} dynamic sections")
        address, size = self.dynamics[0]
        values: dict[int, list[int]] = defaultdict(list)
        for tag, value in struct.iter_unpack("<QQ", self.at(address, min(size // 16, MOST_ENTRIES) * 16)):
            if tag == END:
                return values
            if tag != NEEDED and values[tag]:
                raise Malformed("its dynamic section says the same thing twice")
            values[tag].append(value)
        raise Malformed("its dynamic section has no end")


class _Symbols:
    """Which symbols the relocations of an image refer to, and by what names."""

    def __init__(self, image: _Image, entries: dict[int, list[int]]) -> None:
        self.image = image
        self.entries = entries
        if entries[REL] or entries[PLTREL] not in ([], [RELA]):
            raise Malformed("its relocations are of a kind that this machine has none of")

    def text(self, offset: int) -> str:
        return self.image.name(self._value(STRTAB) + offset)

    def looked_up(self) -> tuple[frozenset[str], frozenset[str]]:
        """Names of those that the library does not define, and of those that it does."""
        imported, own = set(), set()
        for index in self._referred() - {0}:
            name, information, other, section = struct.unpack("<IBBH12x4x", self._symbol(index))
            if not section:
                imported.add(self.text(name))
            elif information >> 4 != LOCAL and other & 3 not in HIDDEN:
                own.add(self.text(name))
        return frozenset(imported), frozenset(own)

    def _referred(self) -> set[int]:
        found: set[int] = set()
        for table, size in ((RELA, RELASZ), (JMPREL, PLTRELSZ)):
            if not self.entries[table] and not self.entries[size]:
                continue
            length = self._value(size)
            if length % RELOCATION_BYTES or length > MOST_RELOCATIONS * RELOCATION_BYTES:
                raise Malformed("its relocations are too many, or incomplete")
            rows = struct.iter_unpack("<8xQ8x", self.image.at(self._value(table), length))
            found.update(information >> 32 for (information,) in rows)
        return found

    def _symbol(self, index: int) -> bytes:
        return self.image.at(self._value(SYMTAB) + SYMBOL_BYTES * index, SYMBOL_BYTES)

    def _value(self, tag: int) -> int:
        if not self.entries[tag]:
            raise Malformed("its dynamic section is incomplete")
        return self.entries[tag][0]
