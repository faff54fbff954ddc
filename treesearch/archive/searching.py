"""Where a text occurs: in ideas, in code, and in answers that say more than these.

Runs are looked at one by one, the newest first, and no further than it takes: what is common is found at once, and what
is rare takes one pass over all texts, without a sort.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, literal, not_, or_, select, type_coerce, types
from sqlalchemy.orm import InstrumentedAttribute, Session

from treesearch.archive import mapping, texts
from treesearch.archive import schema as s
from treesearch.archive.growing import natural
from treesearch.records import Run

Row = type[s.IdeaRow] | type[s.KernelRow] | type[s.AnswerRow]
Text = InstrumentedAttribute[str] | InstrumentedAttribute[str | None]
Found = Select[int, Any, str, str, str | None]
"""Round, ordinal, id and text, and a text that must not hold what is looked for."""
AT_ONCE = 64
"""Rows that are read at once, of which all may turn out not to hold it."""
LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


class Where(StrEnum):
    ANSWER = "answer"
    CODE = "code"
    IDEA = "idea"


@dataclass(frozen=True)
class Hit:
    """A text that holds what was looked for."""

    run: Run
    round: int
    where: Where
    id: str
    """Of the proposal, the kernel or the request."""
    text: str
    """All of it; of an idea, its title and its mechanism."""


def search(session: Session, wanted: str, limit: int) -> tuple[Hit, ...]:
    """The newest `limit` texts that hold `wanted`, case of ASCII letters aside."""
    query = select(s.RunRow, s.ProblemRow.name).join(s.ProblemRow, s.RunRow.problem == s.ProblemRow.digest)
    runs = session.execute(query.order_by(s.RunRow.created.desc(), s.RunRow.sequence.desc())).all()
    found = (hit for row, name in runs for hit in _of_run(session, mapping.run_of(row, name), wanted, limit))
    return tuple(islice(found, limit))


def _of_run(session: Session, run: Run, wanted: str, limit: int) -> Iterator[Hit]:
    """A run's hits, the newest round's first; in a round by where it is."""
    found = [
        ((-round, where.value, natural(str(ordinal))), Hit(run, round, where, id, text))
        for where, query in _queries(session, run.id, wanted)
        for round, ordinal, id, text in _holding(session, query, wanted, limit)
    ]
    yield from (hit for _, hit in sorted(found, key=lambda one: one[0]))


def _holding(session: Session, query: Found, wanted: str, limit: int) -> list[tuple[int, Any, str, str]]:
    """The first rows of a query that hold it indeed: into packed texts only we can look."""
    sought = wanted.translate(LOWER)
    with session.execute(query.execution_options(yield_per=AT_ONCE)) as rows:
        found = (
            (round, ordinal, id, text)
            for round, ordinal, id, text, other in rows
            if sought in text.translate(LOWER) and sought not in (other or "").translate(LOWER)
        )
        return list(islice(found, limit))


def _queries(session: Session, run: str, wanted: str) -> Iterator[tuple[Where, Found]]:
    idea, kernel, answer = s.IdeaRow, s.KernelRow, s.AnswerRow
    proposed = idea.run == run, _holds(session, idea.title, wanted) | _holds(session, idea.mechanism, wanted)
    coded = kernel.run == run, _may_hold(session, kernel.source, wanted)
    # What was taken from an answer is a hit of its own.
    taken = select(idea.answer).where(*proposed, idea.answer.is_not(None))
    without = or_(kernel.source.is_(None), not_(_holds(session, kernel.source, wanted)))
    said = answer.run == run, _may_hold(session, answer.text, wanted), answer.id.not_in(taken), without
    of_answer = and_(kernel.answer == answer.id, kernel.run == run)
    nothing = literal(None, s.KernelRow.source.type)
    yield Where.IDEA, _newest(idea, idea.title + "\n" + idea.mechanism, nothing).where(*proposed)
    yield Where.CODE, _newest(kernel, kernel.source, nothing).where(*coded)
    yield Where.ANSWER, _newest(answer, answer.text, kernel.source).outerjoin(kernel, of_answer).where(*said)


def _newest(row: Row, text: ColumnElement[str] | Text, other: ColumnElement[str | None] | Text) -> Found:
    columns: tuple[Any, ...] = row.round, row.ordinal, row.id, text, other
    return select(*columns).select_from(row).order_by(row.round.desc(), row.ordinal, row.id)


def _may_hold(session: Session, column: Text, wanted: str) -> ColumnElement[bool]:
    """Whether a text holds it, or is packed."""
    return or_(_holds(session, column, wanted), type_coerce(column, types.Text).like(f"{texts.PACKED}%"))


def _holds(session: Session, column: Text, wanted: str) -> ColumnElement[bool]:
    """Whether a text holds it that is not packed.

    SQLite's LIKE and PostgreSQL's ILIKE mean the same, of ASCII letters at least.
    """
    pattern, raw = "%" + re.sub(r"([%_/])", r"/\1", wanted) + "%", type_coerce(column, types.Text)
    like = raw.ilike if session.get_bind().dialect.name == "postgresql" else raw.like
    return like(pattern, escape="/")
