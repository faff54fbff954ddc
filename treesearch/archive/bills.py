"""What was paid for in a run: its answers, and those failed attempts, and turns without an answer, that were billed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, CompoundSelect, Exists, Select, Subquery, exists, func, literal, select, union_all
from sqlalchemy.orm import InstrumentedAttribute, Session

from treesearch.archive import schema as s
from treesearch.records import Spending

NOBODY = literal("")


@dataclass(frozen=True)
class Bill:
    """What one answer, or one attempt at it, cost."""

    created: str
    """ISO 8601, UTC."""
    cost_usd: float | None
    """None where the price is not known."""


def total(session: Session, run_id: str) -> Spending:
    found = session.execute(_sums(_bills(run_id).subquery())).one()
    return Spending(*found) if found[0] else Spending()


def by_author(session: Session, run_id: str) -> dict[str, Spending]:
    """The same for each who answered; under an empty name what brought no answer."""
    bills = _bills(run_id).subquery()
    found = session.execute(_sums(bills, bills.c.author).group_by(bills.c.author))
    return {author: Spending(*sums) for *sums, author in found}


def _sums(bills: Subquery, *also: ColumnElement[str]) -> Select[*tuple[Any, ...]]:
    """The fields of a `Spending`, then `also`."""
    return select(
        func.count(),
        func.count() - func.count(bills.c.cost_usd),
        func.sum(bills.c.input_tokens),
        func.sum(bills.c.output_tokens),
        func.sum(bills.c.cost_usd),
        *also,
    )


def of_run(session: Session, run_id: str) -> tuple[Bill, ...]:
    """In the order in which they came."""
    bills = _bills(run_id).subquery()
    found = session.execute(select(bills.c.created, bills.c.cost_usd).order_by(bills.c.created))
    return tuple(Bill(created, cost) for created, cost in found)


def _bills(run_id: str) -> CompoundSelect[*tuple[Any, ...]]:
    """When each came and from whom, with its tokens and money."""
    answered, failed, said = s.AnswerRow, s.FailedAskRow, s.TurnRow
    author = func.coalesce(func.nullif(answered.answered_by, ""), answered.model)
    given = select(*_bill(answered, author)).where(answered.run == run_id, answered.failure == "")
    wasted = select(*_bill(failed)).where(failed.run == run_id, failed.input_tokens.is_not(None))
    unanswered = select(*_bill(said)).where(said.run == run_id, said.input_tokens.is_not(None), ~led_to_an_answer())
    return union_all(given, wasted, unanswered)


def _bill(
    row: type[s.AnswerRow | s.FailedAskRow | s.TurnRow], author: ColumnElement[str] = NOBODY
) -> tuple[ColumnElement[Any] | InstrumentedAttribute[Any], ...]:
    return row.created, row.input_tokens, row.output_tokens, row.cost_usd, author.label("author")


def led_to_an_answer() -> Exists:
    """Whether a turn's question was answered by the same model, whose answer counts what the turn took."""
    answered = s.AnswerRow
    by_its_model = (answered.id == s.TurnRow.request, answered.model == s.TurnRow.model, answered.failure == "")
    return exists().where(*by_its_model, answered.input_tokens.is_not(None))
