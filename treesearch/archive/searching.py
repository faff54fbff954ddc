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
from typing import Any

from sqlalchemy import ColumnElement, Select, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from treesearch.archive import mapping
from treesearch.archive import schema as s
from treesearch.archive.growing import natural
from treesearch.records import Run

Row = type[s.IdeaRow] | type[s.KernelRow] | type[s.AnswerRow]
Found = Select[int, Any, str, str]
"""Round, ordinal, id and text."""


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
        for round, ordinal, id, text in session.execute(query.limit(limit))
    ]
    yield from (hit for _, hit in sorted(found, key=lambda one: one[0]))


def _queries(session: Session, run: str, wanted: str) -> Iterator[tuple[Where, Found]]:
    idea, kernel, answer = s.IdeaRow, s.KernelRow, s.AnswerRow
    proposed = idea.run == run, _holds(session, idea.title, wanted) | _holds(session, idea.mechanism, wanted)
    coded = kernel.run == run, _holds(session, kernel.source, wanted)
    # What was taken from an answer is a hit of its own.
    taken = (
        select(idea.answer).where(*proposed, idea.answer.is_not(None)),
        select(kernel.answer).where(*coded, kernel.answer.is_not(None)),
    )
    said = answer.run == run, _holds(session, answer.text, wanted), *(answer.id.not_in(one) for one in taken)
    yield Where.IDEA, _newest(idea, idea.title + "\n" + idea.mechanism).where(*proposed)
    yield Where.CODE, _newest(kernel, kernel.source).where(*coded)
    yield Where.ANSWER, _newest(answer, answer.text).where(*said)


def _newest(row: Row, text: ColumnElement[str] | InstrumentedAttribute[str | None]) -> Found:
    columns: tuple[Any, ...] = row.round, row.ordinal, row.id, text
    return select(*columns).order_by(row.round.desc(), row.ordinal, row.id)


def _holds(
    session: Session, column: InstrumentedAttribute[str] | InstrumentedAttribute[str | None], wanted: str
) -> ColumnElement[bool]:
    """SQLite's LIKE and PostgreSQL's ILIKE mean the same, of ASCII letters at least."""
    pattern = "%" + re.sub(r"([%_/])", r"/\1", wanted) + "%"
    like = column.ilike if session.get_bind().dialect.name == "postgresql" else column.like
    return like(pattern, escape="/")
