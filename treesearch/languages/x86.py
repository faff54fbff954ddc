"""The instruction mix of C++ kernels on x86-64, from what objdump shows."""

from __future__ import annotations

import platform
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from treesearch.languages.mix import Classes, Disassembler, Mix
from treesearch.languages.symbols import MANGLED, demangled

_FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
_INSTRUCTION = re.compile(r"^\s+[0-9a-f]+:\t(?:(?:lock|rep\w*|bnd|notrack|data16|cs|\{\w+\})\s+)*(\S.*?)\s*(?:#.*)?$")
_STARTUP = frozenset(
    "_init _fini _start deregister_tm_clones register_tm_clones __do_global_dtors_aux frame_dummy".split()
)
"""Functions that the linker puts into every shared object."""
_WIDEST = re.compile(r"%([xyz])mm\d")
_BITS = {"x": 128, "y": 256, "z": 512}

_MATH = r"h?add|h?sub|addsub|mul|div|max|min|sqrt|rcp|rsqrt|rndscale|round|scale|reduce|getexp|getmant|range|dp"
_CLASSES = Classes(
    (
        (r"\S*nop|endbr|xchg +%ax,%ax|data16", ""),
        (r"call\S* +[0-9a-f]+ <(.+?)@plt>", "call of {}"),
        (r"call", "call"),
        (r"v?p?gather\S* .*\[(\d+)\]", "gather {}-bit"),
        (r"v?p?scatter\S* .*\[(\d+)\]", "scatter {}-bit"),
        (r"v?p?cvt\S*|vpmov[sz]x|vpmov[sdqu]\S*[bwd] ", "conversion"),
        (r"vf\S*(?:132|213|231)p[sdh] .*\[(\d+)\]", "FMA {}-bit"),
        (r"vf\S*(?:132|213|231)s[sdh] ", "FMA scalar"),
        (r"vdpbf16ps\S* .*\[(\d+)\]", "BF16 dot product {}-bit"),
        (r"v?(?:div|sqrt)p[sdh] .*\[(\d+)\]", "divide or sqrt {}-bit"),
        (r"v?(?:div|sqrt)s[sdh] ", "divide or sqrt scalar"),
        (rf"v?(?:{_MATH}|and|or|xor|andn|cmp)\S*p[sdh] .*\[(\d+)\]", "FP arithmetic {}-bit"),
        (rf"v?(?:{_MATH}|cmp|comi|ucomi)\S*s[sdh] ", "FP arithmetic scalar"),
        (r"v?mov(?:a|u|nt|dq|l|h)\S* [^,]*\(%r[sb]p\S*\),%[xyz]mm.*\[(\d+)\]", "vector load {}-bit from the stack"),
        (r"v?mov(?:a|u|nt|dq|l|h)\S* %[xyz]mm\d+,[^,]*\(%r[sb]p.*\[(\d+)\]", "vector store {}-bit to the stack"),
        (r"v?movnt\S* .*\[(\d+)\]", "non-temporal store {}-bit"),
        (r"v?(?:mov(?:a|u|dq|l|h)\S*|lddqu|p?broadcast\S*) [^%]*\(.*\),.*\[(\d+)\]", "vector load {}-bit"),
        (r"v?mov(?:a|u|dq|l|h)\S* %[xyz]mm\d+,.*\(.*\[(\d+)\]", "vector store {}-bit"),
        (r"v?movs[sdh] [^%]*\(", "FP load scalar"),
        (r"v?movs[sdh] %xmm\d+,.*\(", "FP store scalar"),
        (
            r"v?(?:p?perm|p?shuf|p?unpck|p?unpack|p?blend|p?broadcast|insert|extract|pinsr|pextr|p?align|pack|compress"
            r"|expand|p[sl]+dq|movs[hl]dup|movddup|movhl|movlh).* .*\[(\d+)\]",
            "shuffle or blend {}-bit",
        ),
        (
            r"v?p(?:add|sub|mul|and|or|xor|cmp|sll|srl|sra|max|min|test|abs|sign|sad|tern|madd|dp)\S* .*",
            "integer vector",
        ),
        (r"prefetch", "prefetch"),
        (r"j\S+|ret|loop", "branch"),
        (r"div|idiv", "integer divide"),
        (r"v?mov\S* .*\[\d+\]|k\S+|vzero", "vector move or mask"),
    ),
    other="scalar integer or move",
)
"""Instructions as objdump prints them, with the bits of the widest vector register in brackets behind those that use
one."""


def _tool() -> str | None:
    return shutil.which("objdump") if platform.machine() == "x86_64" else None


def _command(tool: str, library: Path) -> list[str]:
    return [tool, "-d", "-j", ".text", "--no-show-raw-insn", str(library)]


def mixes(text: str) -> tuple[Mix, ...]:
    """The mix of each function of a kernel, in the order of `objdump -d --no-show-raw-insn`."""
    names = demangled(tuple(dict.fromkeys(MANGLED.findall(text))))
    readable = MANGLED.sub(lambda match: names[match[0]], text)
    return tuple(_CLASSES.mix(name, instructions) for name, instructions in _functions(readable))


def _functions(text: str) -> Iterator[tuple[str, list[str]]]:
    name, instructions = "", list[str]()
    for line in text.splitlines():
        if match := _FUNCTION.match(line):
            if instructions:
                yield name, instructions
            name, instructions = ("" if match[1] in _STARTUP else match[1]), []
        elif name and (match := _INSTRUCTION.match(line)):
            instructions.append(_widened(match[1]))
    if instructions:
        yield name, instructions


def _widened(instruction: str) -> str:
    """The instruction in single spaces, with the bits of its widest vector register."""
    flat = " ".join(instruction.split())
    widths = [_BITS[letter] for letter in _WIDEST.findall(flat)]
    return f"{flat} [{max(widths)}]" if widths else flat


OBJDUMP = Disassembler(_tool, _command, mixes)
