"""A run's kernels, read again and again as they become more.

Rows of kernels and of verdicts are added and never edited, so that only those are read which were not there the time
before, and none where their number is the same. What counts is worked out anew wherever a row, a finding or a person's
decision is new.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import TypeVar

from sqlalchemy import CTE, ColumnElement, func, select, true
from sqlalchemy.orm import InstrumentedAttribute, Session

from treesearch.archive import decisions, findings, mapping
from treesearch.archive import schema as s
from treesearch.archive.findings import Finding, Kind, Verdict
from treesearch.lineage import Lineage
from treesearch.records import Decision, Edge, Entry, Kernel, Relation

NAMED = 500
"""Rows that a query names one by one; databases take a limited number of parameters."""

BY_AGE = (s.EvaluationRow.ordinal, s.EvaluationRow.created, s.EvaluationRow.id)
"""The clocks of other machines may be wrong; the count of verdicts is not."""
AS_FOUND = (s.FindingRow.created, s.FindingRow.id)

Age = tuple[int, str, int]
Above = dict[str, list[Finding]]
T = TypeVar("T", int, str)


@lru_cache(maxsize=4096)
def natural(ordinal: str) -> tuple[tuple[int, str], ...]:
    """A sort key under which `10.0` follows `9.2` and `3.0r1` follows `3.0`."""
    parts = re.findall(r"[0-9]+|[^0-9]+", ordinal)
    return tuple((int(part), "") if part[0] in "0123456789" else (-1, part) for part in parts)


class Growing:
    """The kernels of one run with the verdicts that count, and their lineage. Only one thread may use it at a time."""

    def __init__(self, run: str) -> None:
        """`run` is the run's id."""
        self.run = run
        self._decisions: tuple[Decision, ...] = ()
        self._kernels: dict[str, Kernel] = {}
        self._seen: set[int] = set()
        self._sizes: tuple[int, int] | None = None
        self._newest: dict[str, tuple[Age, Verdict]] = {}
        self._weighed_by: tuple[dict[str, Finding], Above] = {}, {}
        self._entries: tuple[Entry, ...] | None = None
        self._lineage: Lineage | None = None

    def entries(self, session: Session) -> tuple[Entry, ...]:
        """By round and ordinal; the same tuple as before where nothing is new."""
        self._heed_decisions(session)
        sizes = self._sizes_of_tables(session)  # first, so that what is stored meanwhile is new the next time
        if sizes != self._sizes:
            self._read_kernels(session)
            self._read_verdicts(session)
            self._sizes = sizes
        found = newest_findings(session)
        above = findings.causes(found, edges_under_suspicion(session)) if found else {}
        if self._entries is None or (found, above) != self._weighed_by:
            self._entries, self._lineage = self._weighed(found, above), None
            self._weighed_by = found, above
        return self._entries

    def lineage(self, session: Session) -> Lineage:
        """The same one as before where nothing is new."""
        entries = self.entries(session)
        if self._lineage is None:
            # Another process may have stored a kernel since they were read.
            self._lineage = Lineage(
                entries, [edge for edge in edges_of(session, self.run) if edge.child in self._kernels]
            )
        return self._lineage

    def _heed_decisions(self, session: Session) -> None:
        """Have all kernels read anew where a person has decided about ideas since, of which kernels tell."""
        decided = decisions.of_run(session, self.run)
        if decided != self._decisions:
            self._decisions, self._entries, self._sizes = decided, None, None
            self._kernels.clear()

    def _sizes_of_tables(self, session: Session) -> tuple[int, int]:
        """How many kernels the run has, and how many verdicts there are: counted far sooner than their ids are read."""
        kernels = select(func.count()).where(s.KernelRow.run == self.run).scalar_subquery()
        judged = select(func.count()).select_from(s.EvaluationRow).scalar_subquery()
        row = session.execute(select(kernels, judged)).one()
        return row[0], row[1]

    def _read_kernels(self, session: Session) -> None:
        there = select(s.KernelRow.id).where(s.KernelRow.run == self.run)
        new = set(session.scalars(there)) - self._kernels.keys()
        query = select(s.KernelRow, s.IdeaRow).outerjoin(s.IdeaRow, s.KernelRow.idea == s.IdeaRow.id)
        query = query.where(s.KernelRow.run == self.run, _among(s.KernelRow.id, new))
        proposal_of = decisions.proposals_of(self._decisions)
        for row, idea in session.execute(query) if new else ():
            self._entries = None
            self._kernels[row.id] = mapping.kernel_of(row, proposal_of(idea) if idea else None)

    def _read_verdicts(self, session: Session) -> None:
        device = select(s.RunRow.device).where(s.RunRow.id == self.run).scalar_subquery()
        about = s.KernelRow.run == self.run, s.EvaluationRow.device == device
        there = select(s.EvaluationRow.id).join(s.KernelRow, s.EvaluationRow.kernel == s.KernelRow.id).where(*about)
        new = set(session.scalars(there)) - self._seen
        query = select(s.EvaluationRow).join(s.KernelRow, s.EvaluationRow.kernel == s.KernelRow.id)
        query = query.where(*about, _among(s.EvaluationRow.id, new))
        for row in session.scalars(query) if new else ():
            self._entries = None
            self._keep(row)

    def _keep(self, row: s.EvaluationRow) -> None:
        age = row.ordinal, row.created, row.id
        held = self._newest.get(row.kernel)
        if held is None or held[0] < age:
            self._newest[row.kernel] = age, findings.verdict_of(row)
        self._seen.add(row.id)

    def _weighed(self, found: dict[str, Finding], above: Above) -> tuple[Entry, ...]:
        ordered = sorted(self._kernels.values(), key=lambda kernel: (kernel.round, natural(kernel.ordinal)))
        return tuple(
            findings.weigh(kernel, self._verdict(kernel.id), found.get(kernel.id), above.get(kernel.id, ()))
            for kernel in ordered
        )

    def _verdict(self, kernel: str) -> Verdict | None:
        held = self._newest.get(kernel)
        return held[1] if held else None


def edges_of(session: Session, run: str) -> list[Edge]:
    """Where a run's kernels came from."""
    # Columns rather than rows of the mapper, which take several times as long to make.
    query = select(s.EdgeRow.parent, s.EdgeRow.child, s.EdgeRow.relation)
    query = query.join(s.KernelRow, s.EdgeRow.child == s.KernelRow.id).where(s.KernelRow.run == run)
    order = s.KernelRow.round, s.EdgeRow.child, s.EdgeRow.relation, s.EdgeRow.parent
    found = session.execute(query.order_by(*order))
    return [Edge(parent, child, Relation(relation)) for parent, child, relation in found]


def _among(column: InstrumentedAttribute[T], ids: Collection[T]) -> ColumnElement[bool]:
    """Whether a row is one of these, or any where they are many."""
    return column.in_(ids) if len(ids) <= NAMED else true()


def newest_findings(session: Session) -> dict[str, Finding]:
    """The newest finding about each kernel that there is one about."""
    rows = session.scalars(select(s.FindingRow).order_by(*AS_FOUND))
    return findings.newest(map(findings.finding_of, rows))


def edges_under_suspicion(session: Session) -> list[tuple[str, str]]:
    """(parent, child), whatever their relation, on all ways down from kernels that were ever found suspect."""
    return [(parent, child) for parent, child in session.execute(select(under_suspicion()))]


def under_suspicion() -> CTE:
    """Those edges, as a part of a query."""
    edge = s.EdgeRow
    suspects = select(s.FindingRow.kernel).where(s.FindingRow.kind == Kind.SUSPECT)
    below = select(edge.parent, edge.child).where(edge.parent.in_(suspects)).cte("below", recursive=True)
    return below.union(select(edge.parent, edge.child).join(below, edge.parent == below.c.child))
