"""Kernels without what is long: all that overviews show, in a fraction of the time and memory.

A kernel of an outline has no source; its verdict lacks the profile, the build, the conditions and the software, and of
each timing it has the median alone. All else is as in the lineage, findings included.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from sqlalchemy import ColumnElement, Row, Text, func, literal, select, type_coerce
from sqlalchemy.orm import Session

from treesearch import records as r
from treesearch.archive import decisions, findings, texts
from treesearch.archive import schema as s
from treesearch.archive.findings import Verdict
from treesearch.archive.mapping import AnswerSize, real
from treesearch.archive.whole import edges_of, natural, suspicions
from treesearch.lineage import Lineage

Columns = Row[*tuple[Any, ...]]

LONGEST_ERROR = 2000
"""Characters of an error that are read."""
_KERNEL = [getattr(s.KernelRow, name) for name in "id run round ordinal idea answer language".split()]
_VERDICT = [
    getattr(s.EvaluationRow, name)
    for name in """id kernel device tolerance deadline_seconds threads nominal_calls repeats protocol_version status
    calls worst_error eager_error oracle precision milliseconds eager_milliseconds compile_milliseconds eager_speedup
    eager_speedup_low eager_speedup_high compile_speedup compile_speedup_low compile_speedup_high compile_error seed
    seconds created labels sandbox ordinal stored warm_milliseconds parent_speedup parent_speedup_low
    parent_speedup_high elementwise_error""".split()
]
"""What is short of a verdict, and its error apart."""


def outline(session: Session, run: str) -> Lineage:
    """A run's lineage without what is long."""
    found = entries(session, s.KernelRow.run == run, decisions.of_run(session, run))
    there = {entry.kernel.id for entry in found}
    return Lineage(found, [edge for edge in edges_of(session, run) if edge.child in there])


def entries(session: Session, which: ColumnElement[bool], decided: tuple[r.Decision, ...] = ()) -> list[r.Entry]:
    """The kernels of which that is true, by round and ordinal, each with the verdict that counts on its run's device.

    `decided` is what a person has decided about their ideas.
    """
    kernels = _kernels(session, which, decided)
    verdicts = {row.kernel: _verdict(row) for row in _newest_last(session, which)}
    own, above = suspicions(session)
    return [findings.weigh(one, verdicts.get(id), own.get(id), above.get(id, ())) for id, one in kernels.items()]


def _kernels(session: Session, which: ColumnElement[bool], decided: tuple[r.Decision, ...]) -> dict[str, r.Kernel]:
    ideas = select(s.IdeaRow).where(s.IdeaRow.id.in_(select(s.KernelRow.idea).where(which)))
    proposal_of = decisions.proposals_of(decided)
    proposals = {row.id: proposal_of(row) for row in session.scalars(ideas)}
    query = select(*_KERNEL).where(which)
    rows = sorted(session.execute(query), key=lambda row: (row.round, natural(row.ordinal)))
    return {row.id: _kernel(row, proposals.get(row.idea or "")) for row in rows}


def _kernel(row: Columns, proposal: r.Proposal | None) -> r.Kernel:
    return r.Kernel(row.run, row.round, row.ordinal, row.language, None, row.answer or "", proposal)


def _newest_last(session: Session, which: ColumnElement[bool]) -> list[Columns]:
    query = select(*_VERDICT, func.substr(s.EvaluationRow.error, 1, LONGEST_ERROR).label("error"))
    query = query.join(s.KernelRow, s.EvaluationRow.kernel == s.KernelRow.id)
    query = query.join(s.RunRow, s.KernelRow.run == s.RunRow.id)
    query = query.where(which, s.EvaluationRow.device == s.RunRow.device)
    return sorted(session.execute(query).all(), key=lambda row: (row.ordinal, row.created, row.id))


def _verdict(row: Columns) -> Verdict:
    judged = r.Evaluation(
        status=r.Status(row.status),
        device=row.device,
        protocol=_protocol(
            row.tolerance,
            row.deadline_seconds,
            row.threads,
            row.nominal_calls,
            row.repeats,
            row.protocol_version,
        ),
        error=row.error,
        accuracy=_accuracy(row),
        measurement=_measurement(row),
        seed=row.seed,
        seconds=row.seconds,
        created=row.created,
        labels=tuple(map(r.Label, row.labels)),
        sandbox=row.sandbox,
    )
    return Verdict(judged, row.ordinal, row.stored)


@lru_cache(maxsize=64)
def _protocol(tolerance: float, deadline: float, threads: int, calls: int, repeats: int, version: int) -> r.Protocol:
    return r.Protocol(tolerance, deadline, threads, calls, repeats, version)


def _accuracy(row: Columns) -> r.Accuracy | None:
    if row.calls is None:
        return None
    worst, eager = real(row.worst_error), real(row.eager_error)
    return r.Accuracy(row.calls, worst, eager, row.oracle or "", row.precision or "", row.elementwise_error)


def _measurement(row: Columns) -> r.Measurement | None:
    if row.milliseconds is None:
        return None
    compiled = row.compile_milliseconds
    return r.Measurement(
        kernel=r.Timing((row.milliseconds,)),
        eager=r.Timing((row.eager_milliseconds,)),
        eager_speedup=_ratio(row.eager_speedup, row.eager_speedup_low, row.eager_speedup_high),
        compile=None if compiled is None else r.Timing((compiled,)),
        compile_speedup=(
            None if compiled is None else _ratio(row.compile_speedup, row.compile_speedup_low, row.compile_speedup_high)
        ),
        compile_error=row.compile_error,
        warm=row.warm_milliseconds,
        parent_speedup=(
            None
            if row.parent_speedup is None
            else _ratio(row.parent_speedup, row.parent_speedup_low, row.parent_speedup_high)
        ),
    )


def _ratio(value: float | None, low: float | None, high: float | None) -> r.Ratio:
    return r.Ratio(real(value), real(low), real(high))


def answers(session: Session, run: str) -> list[s.AnswerRow]:
    """A run's answers with nothing in place of what was asked and said."""
    texts = {"prompt", "text"}
    short = [column for column in s.AnswerRow.__table__.columns if column.name not in texts]
    query = select(*short, *(literal("").label(name) for name in sorted(texts))).where(s.AnswerRow.run == run)
    return cast("list[s.AnswerRow]", session.execute(query).all())


def answer_sizes(session: Session) -> tuple[AnswerSize, ...]:
    """How long every answer is, and what it took."""
    row, stored = s.AnswerRow, type_coerce(s.AnswerRow.text, Text)
    told = func.substr(stored, 1, texts.HEAD), func.length(stored)
    query = select(row.stage, row.model, row.output_tokens, row.seconds, *told).where(row.failure == "")
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
