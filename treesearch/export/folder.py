"""The folder that an export becomes: all of it or nothing, and never in the place of something else."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from treesearch.errors import MachineError, UsageError

MANIFEST = "manifest.json"
LEFT_BY_TESTS = {"__pycache__", ".pytest_cache"}
"""Folders that appear in an export when it is used."""


@contextmanager
def staged(target: Path, format: str, subject: str) -> Iterator[Path]:
    """A new folder beside `target` that takes its place when the block ends; nothing is left of one that fails.

    Raises UsageError where `target` holds anything but an earlier export, unchanged, of the same `subject` in the same
    `format`, and MachineError where nothing can be written there.
    """
    check(target, format, subject)
    try:
        target.absolute().parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.absolute().parent))
    except OSError as error:
        raise MachineError(f"Cannot write {target}: {error.strerror}; name another folder with -o.") from error
    try:
        yield work
        work.chmod(0o755)
        _replace(target, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files, by path below the folder; text as UTF-8."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of every file of an export but its manifest, by path below the folder, in the order of the paths."""
    found = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file() or path.is_symlink())
    ours = [path for path in found if str(path) != MANIFEST and not LEFT_BY_TESTS & set(path.parts)]
    return {path.as_posix(): _digest(folder / path) for path in ours}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check(target: Path, format: str, subject: str) -> None:
    """Raises UsageError where an export may not take the place of what is there, MachineError where nothing can be
    written."""
    if not (target.exists() or target.is_symlink()):
        _check_place(target.absolute().parent)
        return
    if target.is_dir() and not any(target.iterdir()):
        return
    if not target.is_dir() or target.is_symlink():
        raise UsageError(f"{target} exists and is no folder; name a new one with -o.")
    manifest = _manifest(target)
    if manifest is None:
        raise UsageError(f"{target} holds files that are no export of treesearch; name a new folder with -o.")
    if (manifest.get("format"), manifest.get("subject")) != (format, subject):
        raise UsageError(f"{target} holds another export; name a new folder with -o.")
    if manifest.get("files") != hashes(target):
        raise UsageError(f"{target} holds files that were changed or added since it was exported; name a new folder.")


def _check_place(parent: Path) -> None:
    """Whether a folder may be made there, as far as that can be told before."""
    nearest = next(place for place in (parent, *parent.parents) if place.exists())
    if not nearest.is_dir():
        raise UsageError(f"{nearest} is no folder; name another place with -o.")
    if not os.access(nearest, os.W_OK):
        raise MachineError(f"{nearest} cannot be written; name another folder with -o.")


def _manifest(target: Path) -> dict[str, object] | None:
    try:
        read = json.loads((target / MANIFEST).read_text())
    except (OSError, ValueError):
        return None
    return read if isinstance(read, dict) else None


def _replace(target: Path, work: Path) -> None:
    """Put the finished folder in its place. An earlier export is set aside meanwhile: one of both is always whole."""
    if not target.exists():
        work.rename(target)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.absolute().parent))
    try:
        os.rename(target, aside)  # over an empty folder, which POSIX allows
        try:
            work.rename(target)
        except BaseException:  # Ctrl-C between the two, for instance
            os.rename(aside, target)
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
