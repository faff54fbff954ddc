"""What the first page and that of a problem say: which runs there are, counted rather than read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treesearch.archive import Archive
from treesearch.errors import UsageError
from treesearch.records import Device, Run


@dataclass(frozen=True)
class Found:
    """A run in a list."""

    run: Run
    device: Device
    archive: str
    """Where it is stored."""


@dataclass(frozen=True)
class ProblemRow:
    """A problem with its runs, newest first."""

    digest: str
    name: str
    runs: tuple[Found, ...]


def problems(archives: Sequence[Archive]) -> tuple[ProblemRow, ...]:
    """Every problem that has runs, that of the newest run first. A run that two archives hold is that of the first."""
    found: dict[str, list[Found]] = {}
    for one in _runs(archives):
        found.setdefault(one.run.problem, []).append(one)
    return tuple(ProblemRow(digest, runs[0].run.problem_name, tuple(runs)) for digest, runs in found.items())


def problem(archives: Sequence[Archive], digest: str) -> ProblemRow:
    """One of them, by its digest. Raises UsageError where there is none."""
    for one in problems(archives):
        if one.digest == digest:
            return one
    raise UsageError(f"There is no run on a problem {digest} here.")


def _runs(archives: Sequence[Archive]) -> list[Found]:
    listed: dict[str, Found] = {}
    for archive in archives:
        devices = {device.id: device for device in archive.devices()}
        for run in archive.runs():
            listed.setdefault(run.id, Found(run, devices[run.device], archive.url))
    return sorted(listed.values(), key=lambda one: one.run.created, reverse=True)
