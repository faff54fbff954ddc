"""Records to rows and back: pure functions, no database."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from treesearch import records as r
from treesearch.archive import passages
from treesearch.archive import schema as s
from treesearch.archive.texts import clean


@dataclass(frozen=True)
class FailedAsk:
    """An attempt to ask that brought no answer."""

    request: str
    """Id of the request."""
    model: str
    error: str
    text: str
    """What the model said all the same; empty where it said nothing."""
    usage: r.Usage
    created: str
    """ISO 8601, UTC."""


@dataclass(frozen=True)
class AnswerSize:
    """How long an answer is, and what it took; None where nobody says."""

    stage: r.Stage
    model: str
    characters: int
    output_tokens: int | None
    seconds: float | None


@dataclass(frozen=True)
class Author:
    """Who gave an answer, and how."""

    model: str
    """The model string that was asked."""
    answered_by: str
    """Who really answered, where that is another name."""
    help: str
    """What was at hand beside the prompt, as the answerer put it."""
    stage: r.Stage

    @property
    def name(self) -> str:
        return self.answered_by or self.model


def now() -> str:
    """The time in UTC as ISO 8601 with microseconds, so that texts sort as times do."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def storable(value: float) -> float | None:
    return None if math.isnan(value) else value


def real(stored: float | None) -> float:
    return math.nan if stored is None else stored


# ── problems and devices ────────────────────────────────────────────────────────────────────────


def problem_row(problem: r.Problem) -> s.ProblemRow:
    return s.ProblemRow(
        digest=problem.digest,
        name=problem.name,
        source=problem.source,
        tolerance=problem.tolerance,
        precision=problem.precision,
        signature=[_argument_json(argument) for argument in problem.signature.arguments],
        flops=problem.flops,
    )


def problem_of(row: s.ProblemRow) -> r.Problem:
    signature = r.Signature(tuple(_argument_of(item) for item in row.signature))
    return r.Problem(row.name, row.source, signature, row.tolerance, row.precision, row.flops)


def _argument_json(argument: r.Argument) -> dict[str, Any]:
    return {
        "name": argument.name,
        "role": argument.role.value,
        "dtype": argument.dtype,
        "shape": list(argument.shape),
        "origin": argument.origin,
    }


def _argument_of(item: dict[str, Any]) -> r.Argument:
    return r.Argument(item["name"], r.Role(item["role"]), item["dtype"], tuple(item["shape"]), item["origin"])


def device_row(device: r.Device) -> s.DeviceRow:
    return s.DeviceRow(
        id=device.id,
        kind=device.kind,
        name=device.name,
        cores=device.cores,
        memory_bytes=device.memory_bytes,
        features=list(device.features),
        caches=list(device.caches),
        architecture=device.architecture,
        clock_mhz=device.clock_mhz,
        memory_clock_mhz=device.memory_clock_mhz,
        shared_memory_bytes=device.shared_memory_bytes,
        bandwidth=device.bandwidth,
        rates=[{"precision": rate.precision, "flops": rate.flops} for rate in device.rates],
        noise=device.noise,
        software=list(device.software),
    )


def device_of(row: s.DeviceRow) -> r.Device:
    return r.Device(
        kind=row.kind,
        name=row.name,
        cores=row.cores,
        memory_bytes=row.memory_bytes,
        features=tuple(row.features),
        caches=tuple(row.caches),
        architecture=row.architecture,
        clock_mhz=row.clock_mhz,
        memory_clock_mhz=row.memory_clock_mhz,
        shared_memory_bytes=row.shared_memory_bytes,
        bandwidth=row.bandwidth,
        rates=tuple(r.Rate(item["precision"], item["flops"]) for item in row.rates),
        noise=row.noise,
        software=tuple(row.software),
    )


# ── runs and rounds ─────────────────────────────────────────────────────────────────────────────


def run_row(problem: str, config: r.Config, device: str, sequence: int) -> s.RunRow:
    """A fresh run of `problem` (its digest) on `device` (its id)."""
    sampling = config.sampling
    return s.RunRow(
        id=r.digest(problem, config.identity, device, sequence)[:8],
        problem=problem,
        device=device,
        identity=config.identity,
        sequence=sequence,
        state=r.RunState.RUNNING,
        created=now(),
        models=list(config.models),
        idea_models=list(config.idea_models),
        code_models=list(config.code_models),
        language=config.language,
        rounds=config.rounds,
        ideas=config.ideas,
        implementations=config.implementations,
        beam=config.beam,
        repairs=config.repairs,
        policy=config.policy,
        deadline_seconds=config.deadline_seconds,
        temperature=sampling.temperature,
        max_tokens=sampling.max_tokens,
        reasoning_effort=sampling.reasoning_effort,
        budget=budget_json(config),
        prices=prices_json(config),
        stopped="",
    )


def budget_json(config: r.Config) -> dict[str, Any]:
    return asdict(config.budget)


def prices_json(config: r.Config) -> list[dict[str, Any]]:
    return [asdict(price) for price in config.prices]


def run_of(row: s.RunRow, problem_name: str) -> r.Run:
    state = r.RunState(row.state)
    return r.Run(row.id, row.problem, problem_name, _config_of(row), row.device, state, row.created, row.stopped)


def _config_of(row: s.RunRow) -> r.Config:
    return r.Config(
        models=tuple(row.models),
        idea_models=tuple(row.idea_models),
        code_models=tuple(row.code_models),
        language=row.language,
        rounds=row.rounds,
        ideas=row.ideas,
        implementations=row.implementations,
        beam=row.beam,
        repairs=row.repairs,
        policy=row.policy,
        deadline_seconds=row.deadline_seconds,
        sampling=_sampling_of(row),
        budget=r.Budget(**row.budget),
        prices=tuple(r.Price(**price) for price in row.prices),
    )


def _sampling_of(row: s.RunRow | s.AnswerRow) -> r.Sampling:
    return r.Sampling(row.temperature, row.max_tokens, row.reasoning_effort)


def round_row(round_: r.Round) -> s.RoundRow:
    parents, decisions = list(round_.parents), list(round_.decisions)
    return s.RoundRow(run=round_.run, number=round_.number, parents=parents, decisions=decisions)


def round_of(row: s.RoundRow) -> r.Round:
    return r.Round(row.run, row.number, tuple(row.parents), tuple(row.decisions))


# ── answers ─────────────────────────────────────────────────────────────────────────────────────


def answer_row(request: r.Request, answer: r.Answer) -> s.AnswerRow:
    """A row that only names the passages of its prompt, which have to be kept beside it."""
    return s.AnswerRow(
        id=request.id,
        run=request.run,
        round=request.round,
        stage=request.stage,
        problem=request.problem,
        parent=request.parent,
        ordinal=request.ordinal,
        prompt="",
        text=answer.text,
        model=answer.model,
        answered_by=answer.answered_by,
        help=answer.help,
        temperature=answer.sampling.temperature,
        max_tokens=answer.sampling.max_tokens,
        reasoning_effort=answer.sampling.reasoning_effort,
        input_tokens=answer.usage.input_tokens,
        output_tokens=answer.usage.output_tokens,
        cost_usd=answer.usage.cost_usd,
        seconds=answer.seconds,
        failure=answer.failure,
        created=answer.created or now(),
        templates=request.templates,
        passages=passages.digests(request.prompt),
    )


def request_of(row: s.AnswerRow, prompt: str) -> r.Request:
    stage = r.Stage(row.stage)
    return r.Request(row.run, row.round, stage, row.problem, row.parent, row.ordinal, prompt, row.templates)


def answer_of(row: s.AnswerRow) -> r.Answer:
    return r.Answer(
        text=row.text,
        model=row.model,
        answered_by=row.answered_by,
        help=row.help,
        sampling=_sampling_of(row),
        usage=_usage_of(row),
        seconds=row.seconds,
        failure=row.failure,
        created=row.created,
    )


def failed_ask_row(request: r.Request, model: str, error: str, text: str, usage: r.Usage) -> s.FailedAskRow:
    return s.FailedAskRow(
        request=request.id,
        run=request.run,
        model=model,
        error=error,
        text=text,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=usage.cost_usd,
        created=now(),
    )


def failed_ask_of(row: s.FailedAskRow) -> FailedAsk:
    return FailedAsk(row.request, row.model, row.error, row.text, _usage_of(row), row.created)


def turn_row(request: r.Request, turn: r.Turn) -> s.TurnRow:
    return s.TurnRow(
        request=request.id,
        model=turn.model,
        number=turn.number,
        run=request.run,
        message=turn.message,
        reports=[clean(report) for report in turn.reports],
        input_tokens=turn.usage.input_tokens,
        output_tokens=turn.usage.output_tokens,
        cost_usd=turn.usage.cost_usd,
        seconds=turn.seconds,
        created=now(),
    )


def turn_of(row: s.TurnRow) -> r.Turn:
    return r.Turn(row.model, row.number, row.message, tuple(row.reports), _usage_of(row), row.seconds)


def _usage_of(row: s.AnswerRow | s.FailedAskRow | s.TurnRow) -> r.Usage:
    return r.Usage(row.input_tokens, row.output_tokens, row.cost_usd)


# ── ideas, kernels, edges ───────────────────────────────────────────────────────────────────────


def idea_row(proposal: r.Proposal) -> s.IdeaRow:
    return s.IdeaRow(
        id=proposal.id,
        run=proposal.run,
        round=proposal.round,
        ordinal=proposal.ordinal,
        parent=proposal.parent,
        answer=proposal.answer or None,
        title=proposal.idea.title,
        category=proposal.idea.category,
        mechanism=proposal.idea.mechanism,
        expected_speedup=storable(proposal.idea.expected_speedup),
        risk=proposal.idea.risk,
        refutation=proposal.idea.refutation,
        dropped=proposal.dropped,
        decision=proposal.decision or None,
    )


def idea_of(row: s.IdeaRow | s.DecisionRow) -> r.Idea:
    category = r.Category(row.category)
    return r.Idea(row.title, category, row.mechanism, real(row.expected_speedup), row.risk, row.refutation)


def proposal_of(row: s.IdeaRow) -> r.Proposal:
    place = row.run, row.round, row.ordinal, row.parent, row.answer or ""
    return r.Proposal(*place, idea_of(row), row.dropped, row.decision or "")


def kernel_row(kernel: r.Kernel) -> s.KernelRow:
    source = None if kernel.source is None else clean(kernel.source)
    return s.KernelRow(
        id=kernel.id,
        run=kernel.run,
        round=kernel.round,
        ordinal=kernel.ordinal,
        idea=kernel.proposal.id if kernel.proposal else None,
        answer=kernel.answer or None,
        language=kernel.language,
        source=source,
        digest=None if source is None else r.digest(source),
    )


def kernel_of(row: s.KernelRow, proposal: r.Proposal | None) -> r.Kernel:
    return r.Kernel(row.run, row.round, row.ordinal, row.language, row.source, row.answer or "", proposal)


def edge_row(edge: r.Edge) -> s.EdgeRow:
    return s.EdgeRow(parent=edge.parent, child=edge.child, relation=edge.relation)
