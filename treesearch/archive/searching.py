"""Where a text occurs: in ideas, in code, and in answers that say more than these.

Runs are looked at one by one, the newest first, and no further than it takes: what is common is found at once, and what
is rare takes one pass over all texts, without a sort.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from sqlalchemy import ColumnElement, Select, func, or_, select, type_coerce, types
from sqlalchemy.orm import InstrumentedAttribute, Session

from treesearch.archive import mapping, texts
from treesearch.archive import schema as s
from treesearch.archive.whole import natural
from treesearch.records import Run

Row = type[s.IdeaRow] | type[s.KernelRow] | type[s.AnswerRow]
Text = InstrumentedAttribute[str] | InstrumentedAttribute[str | None]
Found = Select[int, Any, str, str]
"""Round, ordinal, id and text."""
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
        for where, query, others in _queries(session, run.id, wanted)
        for round, ordinal, id, text in _holding(session, query, wanted, limit, others)
    ]
    yield from (hit for _, hit in sorted(found, key=lambda one: one[0]))


def _holding(
    session: Session, query: Found, wanted: str, limit: int, others: Set[str]
) -> list[tuple[int, Any, str, str]]:
    """The first rows of a query that hold it indeed, `others` aside: into packed texts only we can look."""
    with session.execute(query.execution_options(yield_per=AT_ONCE)) as rows:
        found = (
            (round, ordinal, id, text)
            for round, ordinal, id, text in rows
            if _within(wanted, text) and id not in others
        )
        return list(islice(found, limit))


def _within(wanted: str, text: str) -> bool:
    return wanted.translate(LOWER) in text.translate(LOWER)


def _queries(session: Session, run: str, wanted: str) -> Iterator[tuple[Where, Found, Set[str]]]:
    """What may hold it in each place, and the ids of what is a hit elsewhere."""
    idea, kernel, answer = s.IdeaRow, s.KernelRow, s.AnswerRow
    proposed = idea.run == run, _holds(session, idea.title, wanted) | _holds(session, idea.mechanism, wanted)
    coded = kernel.run == run, _holds(session, kernel.source, wanted)
    packed = select(kernel.answer, kernel.source).where(kernel.run == run, _packed(kernel.source))
    # What was taken from an answer is a hit of its own.
    taken = (
        select(idea.answer).where(*proposed, idea.answer.is_not(None)),
        select(kernel.answer).where(*coded, kernel.answer.is_not(None)),
    )
    said = answer.run == run, _may_hold(session, answer.text, wanted), *(answer.id.not_in(one) for one in taken)
    yield Where.IDEA, _newest(idea, idea.title + "\n" + idea.mechanism).where(*proposed), frozenset()
    code = _newest(kernel, kernel.source).where(kernel.run == run, _may_hold(session, kernel.source, wanted))
    yield Where.CODE, code, frozenset()
    coded_too = {id for id, source in session.execute(packed) if id and source and _within(wanted, source)}
    yield Where.ANSWER, _newest(answer, answer.text).where(*said), coded_too


def _newest(row: Row, text: ColumnElement[str] | Text) -> Found:
    columns: tuple[Any, ...] = row.round, row.ordinal, row.id, text
    return select(*columns).order_by(row.round.desc(), row.ordinal, row.id)


def _may_hold(session: Session, column: Text, wanted: str) -> ColumnElement[bool]:
    """Whether a text holds it, or is packed."""
    return or_(_holds(session, column, wanted), _packed(column))


def _packed(column: Text) -> ColumnElement[bool]:
    return func.substr(type_coerce(column, types.Text), 1, len(texts.PACKED)) == texts.PACKED


def _holds(session: Session, column: Text, wanted: str) -> ColumnElement[bool]:
    """Whether a text holds it that is not packed.

    SQLite's LIKE and PostgreSQL's ILIKE mean the same, of ASCII letters at least.
    """
    pattern, raw = "%" + re.sub(r"([%_/])", r"/\1", wanted) + "%", type_coerce(column, types.Text)
    like = raw.ilike if session.get_bind().dialect.name == "postgresql" else raw.like
    return like(pattern, escape="/")
