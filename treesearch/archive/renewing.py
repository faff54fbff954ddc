"""Verdicts beside those that are stored already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from treesearch.archive import mapping
from treesearch.archive import schema as s
from treesearch.archive.findings import EVALUATOR, Finding, Kind, finding_row
from treesearch.archive.inserting import insert_new
from treesearch.records import Status

_NEWEST_FINDING = select(func.max(s.FindingRow.__table__.c.created))
"""Made once, and of columns rather than of the mapper's attributes: that takes longer than to execute it."""


def add_evaluation(session: Session, row: s.EvaluationRow) -> bool:
    """Insert a verdict that was just given; returns whether it is new.

    Where its place is taken, only a `suspect` verdict finds another one. Any such verdict after a kernel's first
    one becomes a finding too.
    """
    _wait_for_others(session, row.kernel)
    if row.status != Status.SUSPECT:
        return bool(insert_new(session, [row], stored=tick(session)))
    held = _held(session, row)
    ordinal = _place(row, held)
    if ordinal is None or not insert_new(session, [row], ordinal=ordinal, stored=tick(session)):
        return False
    if held:
        _find_suspect(session, row)
    return True


def _wait_for_others(session: Session, kernel: str) -> None:
    """Whoever else has a verdict on this kernel waits here, so that ordinals are given out one by one.

    A file needs no such thing: whoever writes to it has it alone.
    """
    if session.get_bind().dialect.name != "sqlite":
        session.execute(select(s.KernelRow.id).where(s.KernelRow.id == kernel).with_for_update())


def copy_evaluation(target: Session, row: s.EvaluationRow) -> None:
    """Insert a verdict of another archive, whose findings are copied by themselves."""
    ordinal = _place(row, _held(target, row))
    if ordinal is None:
        return
    insert_new(target, [row], ordinal=ordinal)
    if ordinal != row.ordinal:
        _find_suspect(target, row)


def add_finding(session: Session, finding: Finding) -> None:
    """Insert a finding that was just made."""
    session.add(finding_row(replace(finding, created=finding.created or tick(session))))


def tick(session: Session) -> str:
    """The time, or one after every finding so far: another machine's clock, or this one's, may have been ahead."""
    now, newest = mapping.now(), session.connection().scalar(_NEWEST_FINDING) or ""
    if newest < now:
        return now
    return (datetime.fromisoformat(newest) + timedelta(microseconds=1)).isoformat(timespec="microseconds")


def _held(session: Session, row: s.EvaluationRow) -> Sequence[s.EvaluationRow]:
    about = select(s.EvaluationRow).where(s.EvaluationRow.kernel == row.kernel, s.EvaluationRow.device == row.device)
    return session.scalars(about).all()


def _place(row: s.EvaluationRow, held: Sequence[s.EvaluationRow]) -> int | None:
    """The ordinal for a verdict: its own, or the next one for a `suspect` that is not held; None for one to leave."""
    if not any((one.protocol, one.ordinal) == (row.protocol, row.ordinal) for one in held):
        return row.ordinal
    if row.status != Status.SUSPECT or any(map(_content(row).__eq__, map(_content, held))):
        return None
    return 1 + max(one.ordinal for one in held)


def _content(row: s.EvaluationRow) -> tuple[object, ...]:
    """What makes a verdict the same one, whenever it is stored."""
    return row.protocol, row.status, row.error, row.seed, row.samples


def _find_suspect(session: Session, row: s.EvaluationRow) -> None:
    add_finding(session, Finding(row.kernel, Kind.SUSPECT, row.error, EVALUATOR))
