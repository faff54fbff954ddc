"""Kernels on their way to a device somewhere else: one JSON file that holds all that judging them takes.

Nothing is ever unpacked to a path that a bundle names. A bundle is a program all the same, its problem's Python and its
kernels: judge none from somebody whose program you would not run.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from treesearch.errors import MachineError, UsageError, Waiting
from treesearch.languages import LANGUAGES
from treesearch.records import Device, Problem, Protocol, Purpose, codec, digest
from treesearch.records.codec import Json

FORMAT = "treesearch bundle"
VERSION = 3
LARGEST = 256 << 20
"""Bytes beyond which a file is refused unread."""
FOLDER = Path(".treesearch") / "bundles"
SUFFIX = ".bundle.json"


@dataclass(frozen=True)
class Due:
    """A kernel that waits for its verdict: its id, or the name of its file, and its source."""

    id: str
    source: str
    digest: str
    parent: str
    """Source of the kernel that it was made from; empty for none."""

    @classmethod
    def of(cls, id: str, source: str, parent: str = "") -> Self:
        return cls(id, source, digest(source), parent)


@dataclass(frozen=True)
class Bundle:
    """Kernels of one problem, in one language, to be judged on one device."""

    run: str
    """Id of the run that waits for the verdicts; empty for kernels that belong to none."""
    problem: Problem
    problem_digest: str
    language: str
    protocol: Protocol
    device: Device
    """The target."""
    kernels: tuple[Due, ...]
    promoted: int = 1
    """How many of the fastest seed a round, and are compared with their parents."""
    incumbent: float | None = None
    """Milliseconds of the fastest kernel so far; what is clearly slower is timed with few samples."""
    purpose: Purpose | None = None
    """Why kernels that have their verdicts are measured again; None where verdicts are due."""

    def __post_init__(self) -> None:
        ids = [kernel.id for kernel in self.kernels]
        if len(set(ids)) < len(ids):
            raise ValueError("it names a kernel twice")

    @cached_property
    def digest(self) -> str:
        return str(codec.seal(self._members())[codec.DIGEST])

    @property
    def text(self) -> str:
        """What the file says; equal bundles say the same."""
        return json.dumps(codec.seal(self._members()), indent=1, allow_nan=False) + "\n"

    def _members(self) -> dict[str, Json]:
        encoded = codec.encode(self)
        assert isinstance(encoded, dict)
        return {"format": FORMAT, "version": VERSION, **encoded}


def read(path: Path) -> Bundle:
    """The bundle in a file; raises UsageError, with the reason, for one that cannot be judged here."""
    try:
        members = unsealed(load(path), FORMAT, VERSION)
        bundle = codec.decode(Bundle, members)
        _check(bundle)
    except ValueError as reason:
        raise UsageError(f"Cannot take {path} as a bundle: {reason}.") from reason
    return bundle


def load(path: Path) -> str:
    """A file's text. Raises UsageError for one that cannot be read, ValueError for one that is too large."""
    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror}.") from error
    if len(content) > LARGEST:
        raise ValueError(f"it is larger than {LARGEST >> 20} MiB")
    return content.decode(errors="replace")


def unsealed(text: str, form: str, version: int) -> dict[str, Json]:
    """The members of a sealed object of this format, version and protocol. Raises ValueError with the reason."""
    value = codec.parse(text)
    if not isinstance(value, dict) or value.get("format") != form:
        raise ValueError(f"it does not say that it is a {form}")
    if value.get("version") != version:
        raise ValueError(
            f"it is of format {value.get('version')!a}, and this treesearch reads format {version}; "
            "use the same release of treesearch on both machines"
        )
    members = codec.unseal(value)
    protocol = members.get("protocol")
    spoken = protocol.get("version") if isinstance(protocol, dict) else None
    if spoken != Protocol.version:
        raise ValueError(
            f"it is for version {spoken!a} of how kernels are judged, and this treesearch judges by version "
            f"{Protocol.version}; use the same release of treesearch on both machines"
        )
    return {name: member for name, member in members.items() if name not in ("format", "version")}


def _check(bundle: Bundle) -> None:
    if bundle.problem.digest != bundle.problem_digest:
        raise ValueError(f"its problem {bundle.problem.name} is not the one that its digest names")
    for kernel in bundle.kernels:
        if digest(kernel.source) != kernel.digest:
            raise ValueError(f"the source of kernel {kernel.id} is not the one that its digest names")
    language = LANGUAGES.get(bundle.language)
    if language is None:
        raise ValueError(f"its kernels are in {bundle.language!r}, which this treesearch does not know")
    if not language.runs_on(bundle.device.kind):
        raise ValueError(f"kernels in {language.name} do not run on a device of kind {bundle.device.kind!r}")


def write(path: Path, text: str) -> None:
    """Write a file so that a reader, and whoever comes after a crash, finds all of it or nothing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            with open(draft, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise MachineError(f"Cannot write {path}: {error.strerror}; make room or choose another place.") from error


def results_of(path: Path) -> Path:
    """Where the results of a bundle go unless another place is named: beside it."""
    stem = path.name.removesuffix(SUFFIX) if path.name.endswith(SUFFIX) else path.stem
    return path.with_name(f"{stem}.results.jsonl")


def pack(bundle: Bundle, name: str, afterwards: Sequence[str]) -> Waiting:
    """Write a bundle; returns what to raise, which says what to do with it.

    The file's name ends with the bundle's digest, so the same waiting work is the same file.
    """
    path = FOLDER / f"{name}-{bundle.digest[:8]}{SUFFIX}"
    if not path.exists() or path.read_text(errors="replace") != bundle.text:
        write(path, bundle.text)
    name, results = shlex.quote(path.name), shlex.quote(results_of(path).name)
    steps = [
        f"copy to that machine: {path}",
        f"there:                treesearch work {name}",
        f"  or, with nothing but torch and a compiler: python -m treesearch.work {name}",
        f"copy back:            {results}",
        *(f"here:                 {command}" for command in (f"treesearch absorb {results}", *afterwards)),
    ]
    count, where = len(bundle.kernels), f"{bundle.device.name} ({bundle.device.id})"
    what = "measured again" if bundle.purpose else "judged"
    return Waiting(f"{count} kernel{'s are' if count > 1 else ' is'} to be {what} on {where}.", steps)
