"""What the first page and that of a problem say: which runs there are, counted rather than read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treesearch.archive import Archive
from treesearch.archive.summaries import Summary
from treesearch.errors import UsageError
from treesearch.records import Device, Entry, Run, Status


@dataclass(frozen=True)
class Found:
    """A run in a list."""

    summary: Summary
    device: Device

    @property
    def run(self) -> Run:
        return self.summary.run

    @property
    def verified(self) -> int:
        return self.summary.statuses.get(Status.VERIFIED, 0)

    @property
    def fastest(self) -> Entry | None:
        return self.summary.fastest

    @property
    def speedup(self) -> float | None:
        """Of the fastest, over the better baseline."""
        judged = self.fastest.evaluation if self.fastest else None
        return judged.measurement.speedup.value if judged and judged.measurement else None


@dataclass(frozen=True)
class ProblemRow:
    """A problem with its runs, newest first."""

    digest: str
    name: str
    runs: tuple[Found, ...]

    @property
    def kernels(self) -> int:
        return sum(one.summary.kernels for one in self.runs)

    @property
    def best(self) -> Found | None:
        """The run with the largest speed-up; None where nothing is verified."""
        timed = [one for one in self.runs if one.speedup is not None]
        return max(timed, key=lambda one: one.speedup or 0.0, default=None)


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
        for summary in archive.summaries():
            listed.setdefault(summary.run.id, Found(summary, devices[summary.run.device]))
    return sorted(listed.values(), key=lambda one: one.run.created, reverse=True)
