"""Kernels without what is long: all that overviews show, in a fraction of the time and memory.

A kernel of an outline has no source; its verdict lacks the profile, the build, the conditions and the software, and of
each timing it has the median alone. All else is as in the lineage, findings included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, cast

from sqlalchemy import ColumnElement, Row, Text, func, literal, select, type_coerce
from sqlalchemy.orm import Session

from treesearch import records as r
from treesearch.archive import decisions, findings, texts
from treesearch.archive import schema as s
from treesearch.archive.connect import plain
from treesearch.archive.findings import Verdict
from treesearch.archive.mapping import AnswerSize, Author, real
from treesearch.archive.whole import BY_AGE, edges_of, natural, suspicions
from treesearch.lineage import Lineage

Columns = Row[*tuple[Any, ...]]

LONGEST_ERROR = 2000
"""Characters of an error that are read."""
_KERNEL = [getattr(s.KernelRow, name) for name in "id run round ordinal idea answer language".split()]
_ERROR = func.substr(s.EvaluationRow.error, 1, LONGEST_ERROR)
_VERDICT = [
    _ERROR if name == "error" else getattr(s.EvaluationRow, name)
    for name in """kernel ordinal stored status device error seed seconds created labels sandbox
    tolerance deadline_seconds threads nominal_calls repeats protocol_version
    calls worst_error eager_error oracle precision elementwise_error
    milliseconds eager_milliseconds eager_speedup eager_speedup_low eager_speedup_high
    compile_milliseconds compile_speedup compile_speedup_low compile_speedup_high compile_error
    warm_milliseconds parent_speedup parent_speedup_low parent_speedup_high""".split()
]
"""What is short of a verdict: of the verdict itself, its protocol, its accuracy and its measurement, in that order."""


def outline(session: Session, run: str) -> Lineage:
    """A run's lineage without what is long."""
    found = _weighed(session, s.KernelRow.run == run, decisions.of_run(session, run))
    return Lineage(found.values(), [edge for edge in edges_of(session, run) if edge.child in found])


def entries(session: Session, which: ColumnElement[bool]) -> list[r.Entry]:
    """The kernels of which that is true, by round and ordinal, with the verdicts that count on their runs' devices."""
    found = _weighed(session, which).values()
    return sorted(found, key=lambda entry: (entry.round, natural(entry.ordinal)))


def _weighed(session: Session, which: ColumnElement[bool], decided: tuple[r.Decision, ...] = ()) -> dict[str, r.Entry]:
    """The same by their ids, in no order; `decided` is what a person has decided about their ideas."""
    kernels = _kernels(session, which, decided)
    verdicts = {row[0]: _verdict(row) for row in _newest_last(session, which)}
    own, above = suspicions(session)
    return {id: findings.weigh(one, verdicts.get(id), own.get(id), above.get(id, ())) for id, one in kernels.items()}


def _kernels(session: Session, which: ColumnElement[bool], decided: tuple[r.Decision, ...]) -> dict[str, r.Kernel]:
    proposals = decisions.proposals(session, s.IdeaRow.id.in_(select(s.KernelRow.idea).where(which)), decided)
    return {
        id: r.Kernel(run, round, ordinal, language, None, answer or "", proposals.get(idea or ""))
        for id, run, round, ordinal, idea, answer, language in plain(session, select(*_KERNEL).where(which))
    }


def _newest_last(session: Session, which: ColumnElement[bool]) -> Sequence[Columns]:
    query = select(*_VERDICT).join(s.KernelRow, s.EvaluationRow.kernel == s.KernelRow.id)
    query = query.join(s.RunRow, s.KernelRow.run == s.RunRow.id)
    return plain(session, query.where(which, s.EvaluationRow.device == s.RunRow.device).order_by(*BY_AGE))


def _verdict(row: Sequence[Any]) -> Verdict:
    _, ordinal, stored, status, device, error, seed, seconds, created, labels, sandbox = row[:11]
    judged = r.Evaluation(
        status=r.Status(status),
        device=device,
        protocol=_protocol(*row[11:17]),
        error=error,
        accuracy=_accuracy(*row[17:23]),
        measurement=_measurement(*row[23:]),
        seed=seed,
        seconds=seconds,
        created=created,
        labels=tuple(map(r.Label, labels)),
        sandbox=sandbox,
    )
    return Verdict(judged, ordinal, stored)


@lru_cache(maxsize=64)
def _protocol(tolerance: float, deadline: float, threads: int, calls: int, repeats: int, version: int) -> r.Protocol:
    return r.Protocol(tolerance, deadline, threads, calls, repeats, version)


def _accuracy(
    calls: int | None,
    worst: float | None,
    eager: float | None,
    oracle: str | None,
    precision: str | None,
    elementwise: float | None,
) -> r.Accuracy | None:
    if calls is None:
        return None
    return r.Accuracy(calls, real(worst), real(eager), oracle or "", precision or "", elementwise)


def _measurement(*figures: Any) -> r.Measurement | None:
    """Those of _VERDICT; times are medians."""
    kernel, eager, *over_eager = figures[:5]
    compiled, *over_compiled = figures[5:9]
    compile_error, warm, *over_parent = figures[9:]
    if kernel is None:
        return None
    return r.Measurement(
        kernel=r.Timing((kernel,)),
        eager=r.Timing((eager,)),
        eager_speedup=_ratio(*over_eager),
        compile=None if compiled is None else r.Timing((compiled,)),
        compile_speedup=None if compiled is None else _ratio(*over_compiled),
        compile_error=compile_error,
        warm=warm,
        parent_speedup=None if over_parent[0] is None else _ratio(*over_parent),
    )


def _ratio(value: float | None, low: float | None, high: float | None) -> r.Ratio:
    return r.Ratio(real(value), real(low), real(high))


def answers(session: Session, run: str) -> list[s.AnswerRow]:
    """A run's answers with nothing in place of what was said, and nothing of what was asked."""
    long = {"prompt", "passages", "text"}
    short = [column for column in s.AnswerRow.__table__.columns if column.name not in long]
    query = select(*short, literal("").label("text")).where(s.AnswerRow.run == run)
    return cast("list[s.AnswerRow]", session.execute(query).all())


def authors(session: Session, run: str) -> dict[str, Author]:
    """Who gave each of a run's answers, by the id of its question; those that nobody gave are left out."""
    row, author = s.AnswerRow, cache(Author)
    query = select(row.id, row.model, row.answered_by, row.help, row.stage)
    found = plain(session, query.where(row.run == run, row.failure == ""))
    return {id: author(model, by, help, r.Stage(stage)) for id, model, by, help, stage in found}


def answer_sizes(session: Session, language: str = "") -> tuple[AnswerSize, ...]:
    """How long every answer is, and what it took; with a language, those of searches in it."""
    row, stored = s.AnswerRow, type_coerce(s.AnswerRow.text, Text)
    told = func.substr(stored, 1, texts.HEAD), func.length(stored)
    query = select(row.stage, row.model, row.output_tokens, row.seconds, *told).where(row.failure == "")
    if language:
        query = query.where(row.run.in_(select(s.KernelRow.run).where(s.KernelRow.language == language)))
    return tuple(
        AnswerSize(r.Stage(stage), model, texts.characters(*held), tokens, seconds)
        for stage, model, tokens, seconds, *held in session.execute(query)
    )


@dataclass(frozen=True)
class Questions:
    """Which questions of a run are stored."""

    answered: set[str]
    """Ids of those that have an answer."""
    begun: set[str]
    """Ids of those to which a model said something before it answered."""
    ideas: list[tuple[int, str]]
    """Of each question for ideas that has an answer: its round, and the digest of the parent that it is about."""


def questions(session: Session, run: str) -> Questions:
    row = s.AnswerRow
    answered = session.execute(select(row.id, row.stage, row.round, row.parent).where(row.run == run)).all()
    begun = session.scalars(select(s.TurnRow.request).where(s.TurnRow.run == run))
    ideas = [(number, parent) for _, stage, number, parent in answered if stage == r.Stage.IDEAS]
    return Questions({id for id, *_ in answered}, set(begun), ideas)
