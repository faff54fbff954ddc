"""What was paid for in a run: its answers, and those failed attempts, and turns without an answer, that were billed."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import CompoundSelect, Exists, exists, func, select, union_all
from sqlalchemy.orm import Session

from treesearch.archive import schema as s
from treesearch.records import Spending


@dataclass(frozen=True)
class Bill:
    """What one answer, or one attempt at it, cost."""

    created: str
    """ISO 8601, UTC."""
    cost_usd: float | None
    """None where the price is not known."""


def total(session: Session, run_id: str) -> Spending:
    bills = _bills(run_id).subquery()
    query = select(
        func.count().label("bills"),
        func.sum(bills.c.input_tokens).label("asked"),
        func.sum(bills.c.output_tokens).label("answered"),
        func.sum(bills.c.cost_usd).label("cost"),
        func.count(bills.c.cost_usd).label("priced"),
    )
    total = session.execute(query).one()
    if not total.bills:
        return Spending()
    return Spending(total.bills, total.bills - total.priced, total.asked, total.answered, total.cost)


def of_run(session: Session, run_id: str) -> tuple[Bill, ...]:
    """In the order in which they came."""
    bills = _bills(run_id).subquery()
    found = session.execute(select(bills.c.created, bills.c.cost_usd).order_by(bills.c.created))
    return tuple(Bill(created, cost) for created, cost in found)


def _bills(run_id: str) -> CompoundSelect[tuple[str, int | None, int | None, float | None]]:
    """When each came, with its tokens and money."""
    answered, failed = s.AnswerRow, s.FailedAskRow
    given = select(answered.created, answered.input_tokens, answered.output_tokens, answered.cost_usd).where(
        answered.run == run_id, answered.failure == ""
    )
    wasted = select(failed.created, failed.input_tokens, failed.output_tokens, failed.cost_usd).where(
        failed.run == run_id, failed.input_tokens.is_not(None)
    )
    said = s.TurnRow
    unanswered = select(said.created, said.input_tokens, said.output_tokens, said.cost_usd).where(
        said.run == run_id, said.input_tokens.is_not(None), ~led_to_an_answer()
    )
    return union_all(given, wasted, unanswered)


def led_to_an_answer() -> Exists:
    """Whether a turn's question was answered by the same model, whose answer counts what the turn took."""
    answered = s.AnswerRow
    by_its_model = (answered.id == s.TurnRow.request, answered.model == s.TurnRow.model, answered.failure == "")
    return exists().where(*by_its_model, answered.input_tokens.is_not(None))
