"""Every run at a glance: counted by the database, so that a list of runs reads no lineage.

Kernels with one verdict, which no finding touches, are counted in SQL; the few others are read and weighed one by one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import CompoundSelect, func, select, union
from sqlalchemy.orm import Session

from treesearch.archive import growing, outlining
from treesearch.archive import schema as s
from treesearch.records import Entry, Run, Status

Statuses = Counter[Status | None]


@dataclass(frozen=True)
class Summary:
    """A run with what became of its kernels, on its own device and as it counts since findings were made."""

    run: Run
    statuses: Mapping[Status | None, int]
    """How many kernels have each status, most first; None where the verdict is due."""
    fastest: Entry | None
    """The fastest verified kernel, as outlines have it."""

    @property
    def kernels(self) -> int:
        return sum(self.statuses.values())


def summaries(session: Session, runs: Sequence[Run]) -> Iterator[Summary]:
    """Of these runs, in their order."""
    touched = set(session.scalars(_touched()))
    counted, least = _counted(session)
    found = _read(session, least)
    for run in runs:
        entries = found.get(run.id, [])
        weighed = Counter(_status(entry) for entry in entries if entry.kernel.id in touched)
        fastest = min((entry for entry in entries if entry.verified), key=_milliseconds, default=None)
        yield Summary(run, dict((counted[run.id] + weighed).most_common()), fastest)


def _touched() -> CompoundSelect[str]:
    """Ids of kernels that a finding may touch, or that have several verdicts on a device."""
    again = select(s.EvaluationRow.kernel).group_by(s.EvaluationRow.kernel, s.EvaluationRow.device)
    found, below = select(s.FindingRow.kernel), select(growing.under_suspicion().c.child)
    return union(found, below, again.having(func.count() > 1))


def _counted(session: Session) -> tuple[Mapping[str, Statuses], list[float]]:
    """How many other kernels of each run have each status, and the shortest verified time of each run."""
    judged = s.EvaluationRow
    query = select(s.KernelRow.run, judged.status, func.count(), func.min(judged.milliseconds))
    query = query.join(s.RunRow, s.KernelRow.run == s.RunRow.id)
    query = query.outerjoin(judged, (judged.kernel == s.KernelRow.id) & (judged.device == s.RunRow.device))
    query = query.where(s.KernelRow.id.not_in(_touched())).group_by(s.KernelRow.run, judged.status)
    counted: dict[str, Statuses] = defaultdict(Counter)
    least: list[float] = []
    for run, status, number, milliseconds in session.execute(query):
        counted[run][Status(status) if status else None] = number
        if status == Status.VERIFIED and milliseconds is not None:
            least.append(milliseconds)
    return counted, least


def _read(session: Session, least: Sequence[float]) -> Mapping[str, list[Entry]]:
    """By run: the kernels that have to be weighed, and those whose time is one of these."""
    fastest = select(s.EvaluationRow.kernel).where(s.EvaluationRow.milliseconds.in_(least))
    found = defaultdict(list)
    for entry in outlining.entries(session, s.KernelRow.id.in_(_touched()) | s.KernelRow.id.in_(fastest)):
        found[entry.kernel.run].append(entry)
    return found


def _status(entry: Entry) -> Status | None:
    return entry.evaluation.status if entry.evaluation else None


def _milliseconds(entry: Entry) -> float:
    assert entry.milliseconds is not None, "a verified kernel is timed"
    return entry.milliseconds
