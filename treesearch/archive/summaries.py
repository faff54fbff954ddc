"""Every run at a glance: counted by the database, so that a list of runs reads no lineage.

Kernels with one verdict, which no finding touches, are counted in SQL; the few others are read and weighed one by one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, func, select, union
from sqlalchemy.orm import Session

from treesearch.archive import outlining, whole
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


class Summaries:
    """Of every run, counted again only where something is new. Only one thread may use it at a time."""

    def __init__(self) -> None:
        self._seen: tuple[int, ...] = ()
        self._statuses: dict[str, Mapping[Status | None, int]] = {}
        self._fastest: dict[str, Entry] = {}

    def of(self, session: Session, runs: Sequence[Run]) -> tuple[Summary, ...]:
        """Of these runs, in their order."""
        there = _sizes(session)  # first, so that what is stored meanwhile is new the next time
        if there != self._seen:
            self._count(session)
            self._seen = there
        return tuple(Summary(run, self._statuses.get(run.id, {}), self._fastest.get(run.id)) for run in runs)

    def _count(self, session: Session) -> None:
        touched = _touched(session)
        counted, least = _counted(session, ~touched)
        weighed = set(session.scalars(select(s.KernelRow.id).where(touched)))
        entries = _read(session, touched, least)
        for entry in entries:
            if entry.kernel.id in weighed:
                counted[entry.kernel.run][_status(entry)] += 1
        self._statuses = {run: dict(statuses.most_common()) for run, statuses in counted.items()}
        self._fastest = {}
        for entry in sorted((entry for entry in entries if entry.verified), key=_milliseconds):
            self._fastest.setdefault(entry.kernel.run, entry)


def _sizes(session: Session) -> tuple[int, ...]:
    """Numbers that grow with whatever a summary depends on."""
    tables = (s.KernelRow, s.EvaluationRow, s.FindingRow, s.EdgeRow)
    counts = [select(func.count()).select_from(table).scalar_subquery() for table in tables]
    return tuple(session.execute(select(*counts)).one())


def _touched(session: Session) -> ColumnElement[bool]:
    """Whether a finding may touch a kernel, or it has several verdicts on a device."""
    judged = select(s.EvaluationRow.kernel).group_by(s.EvaluationRow.kernel, s.EvaluationRow.device)
    again = judged.having(func.count() > 1)
    few = session.scalars(again.limit(whole.NAMED + 1)).all()  # to look for them takes longer than to name them
    found = union(select(s.FindingRow.kernel), select(whole.under_suspicion().c.child))
    return s.KernelRow.id.in_(found) | s.KernelRow.id.in_(few if len(few) <= whole.NAMED else again)


def _counted(session: Session, which: ColumnElement[bool]) -> tuple[dict[str, Statuses], list[float]]:
    """How many of these kernels of each run have each status, and the shortest verified time of each run."""
    judged = s.EvaluationRow
    query = select(s.KernelRow.run, judged.status, func.count(), func.min(judged.milliseconds))
    query = query.join(s.RunRow, s.KernelRow.run == s.RunRow.id)
    query = query.outerjoin(judged, (judged.kernel == s.KernelRow.id) & (judged.device == s.RunRow.device))
    query = query.where(which).group_by(s.KernelRow.run, judged.status)
    counted: dict[str, Statuses] = defaultdict(Counter)
    least: list[float] = []
    for run, status, number, milliseconds in session.execute(query):
        counted[run][Status(status) if status else None] = number
        if status == Status.VERIFIED and milliseconds is not None:
            least.append(milliseconds)
    return counted, least


def _read(session: Session, touched: ColumnElement[bool], least: Sequence[float]) -> list[Entry]:
    """The kernels that have to be weighed, and those whose time is one of these, by round and ordinal."""
    fastest = select(s.EvaluationRow.kernel).where(s.EvaluationRow.milliseconds.in_(least))
    return outlining.entries(session, touched | s.KernelRow.id.in_(fastest))


def _status(entry: Entry) -> Status | None:
    return entry.evaluation.status if entry.evaluation else None


def _milliseconds(entry: Entry) -> float:
    assert entry.milliseconds is not None, "a verified kernel is timed"
    return entry.milliseconds
