"""What instructions a built kernel consists of, read once and kept beside it.

The text is shown to people and models, and no verdict depends on it. A disassembler reads what a model had compiled,
inline assembly included, so it runs behind walls, within a time and a size.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from treesearch.evaluation import sandbox
from treesearch.evaluation.walls import Walls, readable, toolchain
from treesearch.languages import Language
from treesearch.languages.mix import Mix
from treesearch.records import codec

SECONDS = 10.0
LIMITS = sandbox.Limits(memory=4 << 30, file=32 << 20)
"""A listing that is longer is cut off, and the functions behind that are missing."""
TEMPORARY_BYTES = 256 << 20
LISTING = "listing.txt"
KEPT = "instructions.json"
MOST_FUNCTIONS = 64


def mixes(language: Language, library: Path) -> tuple[Mix, ...]:
    """The instruction mix of each function of a library; nothing where there is no tool, or it fails."""
    disassembler = language.disassembler
    tool = disassembler.tool() if disassembler else None
    if disassembler is None or tool is None:
        return ()
    kept = library.with_name(KEPT)
    if (known := _read(kept)) is not None:
        return known
    listing = _listing(tool, disassembler.command(tool, library), library)
    if listing is None:
        return ()
    found = disassembler.mixes(listing)[:MOST_FUNCTIONS]
    _write(kept, found)
    return found


def _listing(tool: str, command: list[str], library: Path) -> str | None:
    """What the tool prints, written to a file, since what a child says aloud is kept in part only."""
    with tempfile.TemporaryDirectory(prefix="treesearch-") as folder:
        walls = Walls(
            (*readable(library), *toolchain(tool)), (folder,), processes=True, temporary_bytes=TEMPORARY_BYTES
        )
        into_file = ["/bin/sh", "-c", f'exec "$@" > {LISTING}', "sh", *command]
        finished = sandbox.run(into_file, seconds=SECONDS, limits=LIMITS, cwd=Path(folder), walls=walls)
        listing = Path(folder) / LISTING
        if finished.timed_out or finished.code != 0 or not listing.exists():
            return None
        return listing.read_text(errors="replace")


def _read(kept: Path) -> tuple[Mix, ...] | None:
    try:
        return tuple(codec.decode(Mix, one) for one in json.loads(kept.read_text()))
    except (OSError, ValueError, TypeError):  # not there, or of another version
        return None


def _write(kept: Path, found: tuple[Mix, ...]) -> None:
    """Whole or not at all: other processes may read it meanwhile. Where there is no space for it, it is read again."""
    with suppress(OSError):
        descriptor, name = tempfile.mkstemp(prefix="mixes-", dir=kept.parent)
        with os.fdopen(descriptor, "w") as file:
            json.dump([codec.encode(one) for one in found], file)
        os.replace(name, kept)
