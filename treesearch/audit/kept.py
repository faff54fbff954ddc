"""Verdicts of an audit in a file, a line each, so that one that was stopped goes on where it ended.

A verdict is kept for exactly what was judged: kernel, problem, checks left out, device, and every line of treesearch.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from treesearch.audit import machine
from treesearch.audit.corpus import Case
from treesearch.audit.report import Result
from treesearch.errors import UsageError
from treesearch.evaluation.checks import Checks
from treesearch.records import Evaluation, codec, digest


@dataclass(frozen=True)
class _Line:
    case: str
    subject: str
    """Digest of what was judged, and by what."""
    verdict: Evaluation | None
    error: str
    seconds: float
    again: bool


class Kept:
    """The verdicts in a file, which need not be there yet."""

    def __init__(self, path: Path, without: Checks) -> None:
        """Raises UsageError for a file that holds anything else, or that cannot be written to."""
        self.path, self.without = path, without
        try:
            whole = path.read_text() if path.exists() else ""
            complete, _, cut_off = whole.rpartition("\n")
            self._lines = {line.subject: line for line in _read(complete or cut_off)}
            with path.open("a") as file:
                file.truncate(len(whole.encode()) - len(cut_off.encode()))
        except (OSError, ValueError) as reason:
            raise UsageError(f"Cannot keep an audit's verdicts in {path}: {reason}.") from reason

    def results(self, cases: Sequence[Case]) -> list[Result]:
        """Those that the file holds a verdict of."""
        found = ((case, self._lines.get(_subject(case, self.without))) for case in cases)
        return [
            Result(case, line.verdict, line.error, seconds=line.seconds, again=line.again, before=True)
            for case, line in found
            if line
        ]

    def keep(self, result: Result) -> None:
        """Put a verdict on disk, unless it came from there or says only what this machine lacks."""
        if result.before or not result.ran:
            return
        subject = _subject(result.case, self.without)
        line = _Line(result.case.name, subject, result.verdict, result.error, result.seconds, result.again)
        with self.path.open("a") as file:
            file.write(_text(line))
            file.flush()
            os.fsync(file.fileno())


def _read(whole: str) -> Iterator[_Line]:
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            yield codec.decode(_Line, codec.unseal(codec.parse(line)))
        except ValueError as reason:
            raise ValueError(f"line {number}: {reason}") from reason


def _text(line: _Line) -> str:
    members = codec.encode(line)
    assert isinstance(members, dict)
    return codec.canonical(codec.seal(members)) + "\n"


def _subject(case: Case, without: Checks) -> str:
    hardware = machine.hardware(case.device).id
    return digest(case.name, case.source, case.problem.read_text(), hardware, *sorted(without), _judges())


@cache
def _judges() -> str:
    """Digest of treesearch itself."""
    package = Path(__file__).parents[1]
    files = (path for path in sorted(package.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return digest(*(path.read_bytes() for path in files))
