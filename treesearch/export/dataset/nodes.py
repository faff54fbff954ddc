"""Rows of `nodes`: a run's kernels, each with its question, its verdict and its place in the lineage."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from treesearch.export.dataset.rows import Asked, Final, Judged, Node, Place, Proposed
from treesearch.lineage import Lineage, Outcome, Reviewed
from treesearch.records import (
    Answer,
    Entry,
    Evaluation,
    Measurement,
    Purpose,
    Ratio,
    Remeasurement,
    Request,
    Run,
    Status,
)

Exchange = tuple[Request, Answer]

RECORD_LICENCE = "Apache-2.0"
"""That of the record which ships with treesearch, as of everything else in its repository."""

_STATED = re.compile(r"SPDX-License-Identifier:[ \t]*([A-Za-z0-9.+() -]{1,100})")


@dataclass(frozen=True)
class Subject:
    """A run as it was when its rows began to be written."""

    run: Run
    lineage: Lineage
    shipped: bool
    """Whether it lies in the record that ships."""

    @cached_property
    def winner(self) -> str | None:
        fastest = self.lineage.fastest()
        return fastest.kernel.id if fastest else None

    @cached_property
    def outcomes(self) -> Mapping[str, Outcome]:
        """What came of each proposal that has an evaluated kernel, by its id."""
        found = (one for base in self.lineage.bases() for one in self.lineage.outcomes(base.kernel.id))
        return {one.best.kernel.proposal.id: one for one in found if one.best.kernel.proposal}

    def licence(self, text: str | None) -> str | None:
        """The SPDX identifier that a text states, else that of the record, else None."""
        if stated := _STATED.search(text or ""):
            return stated[1].strip() or None
        return RECORD_LICENCE if self.shipped else None


def node(about: Subject, entry: Entry, exchange: Exchange | None, measured: tuple[Remeasurement, ...]) -> Node:
    """`measured` are the later measurements of the kernel, oldest first."""
    reviewed = entry if isinstance(entry, Reviewed) else None
    kernel, judged = entry.kernel, entry.evaluation
    return Node(
        place=_place(about, entry),
        idea=_proposed(about, entry),
        asked=_asked(*exchange) if exchange else None,
        source=kernel.source,
        source_digest=None if kernel.source is None else kernel.digest,
        judged=_judged(judged) if judged else None,
        standing=reviewed.standing if reviewed else None,
        standing_reason=reviewed.reason if reviewed else None,
        final=_final(measured, about.run.device),
        reward=reward(judged),
        licence=about.licence(kernel.source),
    )


def reward(judged: Evaluation | None) -> float | None:
    """ln(1 + speed-up over the better baseline) of a verified kernel, 0 of any other; None while no verdict counts.

    A kernel that works is so always worth more than one that does not, however slow it is: it is as if the latter took
    for ever. A suspect earns nothing, whatever its clock said.
    """
    if judged is None:
        return None
    earned = judged.measurement if judged.status is Status.VERIFIED else None
    return math.log1p(earned.speedup.value) if earned else 0.0


def _place(about: Subject, entry: Entry) -> Place:
    kernel, lineage = entry.kernel, about.lineage
    parent = lineage.parent(kernel.id)
    return Place(
        kernel=kernel.id,
        run=kernel.run,
        problem=about.run.problem_name,
        problem_digest=about.run.problem,
        language=kernel.language,
        round=kernel.round,
        ordinal=kernel.ordinal,
        parent=parent.kernel.id if parent else None,
        relation=lineage.relation(kernel.id),
        inspired_by=lineage.inspirations(kernel.id),
        winner=kernel.id == about.winner,
    )


def _proposed(about: Subject, entry: Entry) -> Proposed | None:
    proposal = entry.kernel.proposal
    if proposal is None:
        return None
    idea, outcome = proposal.idea, about.outcomes.get(proposal.id)
    return Proposed(
        idea_id=proposal.id,
        idea_title=idea.title,
        idea_category=idea.category,
        idea_mechanism=idea.mechanism,
        idea_expected_speedup=idea.expected_speedup,
        idea_risk=idea.risk,
        idea_refutation=idea.refutation,
        idea_decisions=proposal.verbs,
        idea_outcome=outcome.conclusion if outcome else None,
        idea_best_speedup=outcome.ratio if outcome else None,
    )


def _asked(request: Request, answer: Answer) -> Asked:
    return Asked(
        stage=request.stage,
        prompt=request.prompt,
        answer=answer.text,
        failure=answer.failure or None,
        model=answer.model,
        answered_by=answer.answered_by or None,
        help=answer.help or None,
        temperature=answer.sampling.temperature,
        max_tokens=answer.sampling.max_tokens,
        reasoning_effort=answer.sampling.reasoning_effort,
        input_tokens=answer.usage.input_tokens,
        output_tokens=answer.usage.output_tokens,
        cost_usd=answer.usage.cost_usd,
        answer_seconds=answer.seconds,
        templates=request.templates or None,
        asked=answer.created,
    )


def _judged(judged: Evaluation) -> Judged:
    measured, accuracy, protocol = judged.measurement, judged.accuracy, judged.protocol
    return Judged(
        status=judged.status,
        error=judged.error or None,
        labels=judged.labels,
        feedback=judged.profile,
        milliseconds=judged.milliseconds,
        quartiles=measured.kernel.quartiles if measured else None,
        eager_milliseconds=measured.eager.median if measured else None,
        compile_milliseconds=measured.compile.median if measured and measured.compile else None,
        speedup=measured.speedup.value if measured else None,
        speedup_interval=_interval(measured.speedup if measured else None),
        eager_speedup=measured.eager_speedup.value if measured else None,
        eager_speedup_interval=_interval(measured.eager_speedup if measured else None),
        compile_speedup=measured.compile_speedup.value if measured and measured.compile_speedup else None,
        compile_speedup_interval=_interval(measured.compile_speedup if measured else None),
        parent_speedup=measured.parent_speedup.value if measured and measured.parent_speedup else None,
        parent_speedup_interval=_interval(measured.parent_speedup if measured else None),
        worst_error=accuracy.worst_error if accuracy else None,
        eager_error=accuracy.eager_error if accuracy else None,
        precision=accuracy.precision if accuracy else None,
        checked_calls=accuracy.calls if accuracy else None,
        oracle=accuracy.oracle if accuracy else None,
        device=judged.device,
        protocol=protocol.id,
        protocol_version=protocol.version,
        tolerance=protocol.tolerance,
        deadline_seconds=protocol.deadline_seconds,
        threads=protocol.threads,
        nominal_calls=protocol.nominal_calls,
        repeats=protocol.repeats,
        software=judged.software,
        judged=judged.created,
    )


def _interval(ratio: Ratio | None) -> tuple[float, float] | None:
    return (ratio.low, ratio.high) if ratio else None


def _final(measured: tuple[Remeasurement, ...], device: str) -> Final | None:
    """The newest measurement after the selection on the run's device, if it holds."""
    finals = [one.evaluation for one in measured if one.purpose is Purpose.FINAL and one.evaluation.device == device]
    newest = finals[-1] if finals else None
    return _published(newest.measurement) if newest and newest.measurement and not newest.error else None


def _published(measured: Measurement) -> Final:
    over = measured.speedup
    return Final(measured.kernel.median, over.value, (over.low, over.high))
