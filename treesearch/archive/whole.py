"""A run's kernels with all that is stored of them, and which of their verdicts count."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from sqlalchemy import CTE, ColumnElement, select, true
from sqlalchemy.orm import InstrumentedAttribute, Session

from treesearch.archive import decisions, findings, mapping
from treesearch.archive import schema as s
from treesearch.archive.connect import plain
from treesearch.archive.findings import Finding, Kind, Verdict
from treesearch.records import Decision, Edge, Entry, Kernel, Relation

NAMED = 500
"""Rows that a query names one by one; databases take a limited number of parameters."""

BY_AGE = (s.EvaluationRow.ordinal, s.EvaluationRow.created, s.EvaluationRow.id)
"""The clocks of other machines may be wrong; the count of verdicts is not."""
BY_CHILD = (s.KernelRow.round, s.EdgeRow.child, s.EdgeRow.relation, s.EdgeRow.parent)
AS_FOUND = (s.FindingRow.created, s.FindingRow.id)

Above = dict[str, list[Finding]]
T = TypeVar("T", int, str)


@lru_cache(maxsize=4096)
def natural(ordinal: str) -> tuple[tuple[int, str], ...]:
    """A sort key under which `10.0` follows `9.2` and `3.0r1` follows `3.0`."""
    parts = re.findall(r"[0-9]+|[^0-9]+", ordinal)
    return tuple((int(part), "") if part[0] in "0123456789" else (-1, part) for part in parts)


def entries(session: Session, run: str, ids: Collection[str] | None = None) -> tuple[Entry, ...]:
    """A run's kernels, or those of these ids, by round and ordinal, each with the verdict that counts."""
    found, above = suspicions(session)
    held = verdicts_on(session, run, ids)
    kernels = kernels_of(session, run, decisions.of_run(session, run), ids)
    return tuple(findings.weigh(one, held.get(id), found.get(id), above.get(id, ())) for id, one in kernels.items())


def kernels_of(
    session: Session, run: str, decided: tuple[Decision, ...], ids: Collection[str] | None = None
) -> dict[str, Kernel]:
    """Kernels by their ids, in the order of their rounds and ordinals. `decided` is what a person has decided."""
    query = select(s.KernelRow, s.IdeaRow).outerjoin(s.IdeaRow, s.KernelRow.idea == s.IdeaRow.id)
    rows = session.execute(query.where(s.KernelRow.run == run, among(s.KernelRow.id, ids))).all()
    proposal_of = decisions.proposals_of(decided)
    ordered = sorted(rows, key=lambda pair: (pair[0].round, natural(pair[0].ordinal)))
    return {
        row.id: mapping.kernel_of(row, proposal_of(idea) if idea else None)
        for row, idea in ordered
        if ids is None or row.id in ids
    }


def verdicts_on(session: Session, run: str, ids: Collection[str] | None = None) -> dict[str, Verdict]:
    """The newest verdict on each kernel, on the run's device."""
    device = select(s.RunRow.device).where(s.RunRow.id == run).scalar_subquery()
    query = select(s.EvaluationRow).join(s.KernelRow, s.EvaluationRow.kernel == s.KernelRow.id)
    query = query.where(s.KernelRow.run == run, s.EvaluationRow.device == device, among(s.KernelRow.id, ids))
    newest = {row.kernel: row for row in session.scalars(query.order_by(*BY_AGE))}
    return {kernel: findings.verdict_of(row) for kernel, row in newest.items()}


def edges_of(
    session: Session, run: str, ids: Collection[str] | None = None, order: tuple[InstrumentedAttribute[Any], ...] = ()
) -> list[Edge]:
    """Where a run's kernels, or those of these ids, came from."""
    query = select(s.EdgeRow.parent, s.EdgeRow.child, s.EdgeRow.relation)
    query = query.join(s.KernelRow, s.EdgeRow.child == s.KernelRow.id)
    found = plain(session, query.where(s.KernelRow.run == run, among(s.KernelRow.id, ids)).order_by(*order))
    return [Edge(parent, child, Relation(relation)) for parent, child, relation in found if ids is None or child in ids]


def among(column: InstrumentedAttribute[T], ids: Collection[T] | None) -> ColumnElement[bool]:
    """Whether a row is one of these, or any where they are many, or none are named."""
    return true() if ids is None or len(ids) > NAMED else column.in_(ids)


def suspicions(session: Session) -> tuple[dict[str, Finding], Above]:
    """The newest finding about each kernel that there is one about, and those that call suspect what one came from."""
    found = newest_findings(session)
    return found, findings.causes(found, edges_under_suspicion(session)) if found else {}


def newest_findings(session: Session) -> dict[str, Finding]:
    """The newest finding about each kernel that there is one about."""
    rows = session.scalars(select(s.FindingRow).order_by(*AS_FOUND))
    return findings.newest(map(findings.finding_of, rows))


def edges_under_suspicion(session: Session) -> Sequence[tuple[str, str]]:
    """(parent, child), whatever their relation, on all ways down from kernels that were ever found suspect."""
    return [(parent, child) for parent, child in session.execute(select(under_suspicion()))]


def under_suspicion() -> CTE:
    """Those edges, as a part of a query."""
    edge = s.EdgeRow
    suspects = select(s.FindingRow.kernel).where(s.FindingRow.kind == Kind.SUSPECT)
    below = select(edge.parent, edge.child).where(edge.parent.in_(suspects)).cte("below", recursive=True)
    return below.union(select(edge.parent, edge.child).join(below, edge.parent == below.c.child))
