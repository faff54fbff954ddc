"""Records to rows and back: pure functions, no database."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from treesearch import records as r
from treesearch.archive import schema as s


@dataclass(frozen=True)
class FailedAsk:
    """An attempt to ask that brought no answer."""

    request: str
    """Id of the request."""
    model: str
    error: str
    created: str
    """ISO 8601, UTC."""


def now() -> str:
    """The time in UTC as ISO 8601 with microseconds, so that texts sort as times do."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _storable(value: float) -> float | None:
    return None if math.isnan(value) else value


def _real(stored: float | None) -> float:
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
    )


def run_of(row: s.RunRow, problem_name: str) -> r.Run:
    state = r.RunState(row.state)
    return r.Run(row.id, row.problem, problem_name, _config_of(row), row.device, state, row.created)


def _config_of(row: s.RunRow) -> r.Config:
    return r.Config(
        models=tuple(row.models),
        language=row.language,
        rounds=row.rounds,
        ideas=row.ideas,
        implementations=row.implementations,
        beam=row.beam,
        repairs=row.repairs,
        policy=row.policy,
        deadline_seconds=row.deadline_seconds,
        sampling=_sampling_of(row),
    )


def _sampling_of(row: s.RunRow | s.AnswerRow) -> r.Sampling:
    return r.Sampling(row.temperature, row.max_tokens, row.reasoning_effort)


def round_row(round_: r.Round) -> s.RoundRow:
    return s.RoundRow(run=round_.run, number=round_.number, parents=list(round_.parents))


def round_of(row: s.RoundRow) -> r.Round:
    return r.Round(row.run, row.number, tuple(row.parents))


# ── answers ─────────────────────────────────────────────────────────────────────────────────────


def answer_row(request: r.Request, answer: r.Answer) -> s.AnswerRow:
    return s.AnswerRow(
        id=request.id,
        run=request.run,
        round=request.round,
        stage=request.stage,
        problem=request.problem,
        parent=request.parent,
        ordinal=request.ordinal,
        prompt=request.prompt,
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
        created=answer.created or now(),
    )


def request_of(row: s.AnswerRow) -> r.Request:
    return r.Request(row.run, row.round, r.Stage(row.stage), row.problem, row.parent, row.ordinal, row.prompt)


def answer_of(row: s.AnswerRow) -> r.Answer:
    return r.Answer(
        text=row.text,
        model=row.model,
        answered_by=row.answered_by,
        help=row.help,
        sampling=_sampling_of(row),
        usage=r.Usage(row.input_tokens, row.output_tokens, row.cost_usd),
        seconds=row.seconds,
        created=row.created,
    )


def failed_ask_of(row: s.FailedAskRow) -> FailedAsk:
    return FailedAsk(row.request, row.model, row.error, row.created)


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
        expected_speedup=_storable(proposal.idea.expected_speedup),
        risk=proposal.idea.risk,
        dropped=proposal.dropped,
    )


def proposal_of(row: s.IdeaRow) -> r.Proposal:
    category = r.Category(row.category)
    idea = r.Idea(row.title, category, row.mechanism, _real(row.expected_speedup), row.risk)
    return r.Proposal(row.run, row.round, row.ordinal, row.parent, row.answer or "", idea, row.dropped)


def kernel_row(kernel: r.Kernel) -> s.KernelRow:
    source = None if kernel.source is None else s.clean(kernel.source)
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


def kernel_of(row: s.KernelRow, idea: s.IdeaRow | None) -> r.Kernel:
    proposal = proposal_of(idea) if idea else None
    return r.Kernel(row.run, row.round, row.ordinal, row.language, row.source, row.answer or "", proposal)


def edge_row(edge: r.Edge) -> s.EdgeRow:
    return s.EdgeRow(parent=edge.parent, child=edge.child, relation=edge.relation)


def edge_of(row: s.EdgeRow) -> r.Edge:
    return r.Edge(row.parent, row.child, r.Relation(row.relation))


# ── evaluations ─────────────────────────────────────────────────────────────────────────────────


def evaluation_row(kernel: str, evaluation: r.Evaluation, ordinal: int) -> s.EvaluationRow:
    """`ordinal` counts the kernel's verdicts on that device, from 1."""
    protocol, accuracy, build = evaluation.protocol, evaluation.accuracy, evaluation.build
    measured = evaluation.measurement
    eager = measured.eager_speedup if measured else None
    compiled = measured.compile_speedup if measured else None
    compile_timing = measured.compile if measured else None
    stored = now()
    return s.EvaluationRow(
        kernel=kernel,
        device=evaluation.device,
        protocol=protocol.id,
        tolerance=protocol.tolerance,
        deadline_seconds=protocol.deadline_seconds,
        threads=protocol.threads,
        nominal_calls=protocol.nominal_calls,
        repeats=protocol.repeats,
        protocol_version=protocol.version,
        status=evaluation.status,
        error=evaluation.error,
        calls=accuracy.calls if accuracy else None,
        worst_error=_storable(accuracy.worst_error) if accuracy else None,
        eager_error=_storable(accuracy.eager_error) if accuracy else None,
        oracle=accuracy.oracle if accuracy else None,
        precision=accuracy.precision if accuracy else None,
        milliseconds=evaluation.milliseconds,
        eager_milliseconds=measured.eager.median if measured else None,
        compile_milliseconds=compile_timing.median if compile_timing else None,
        eager_speedup=eager.value if eager else None,
        eager_speedup_low=eager.low if eager else None,
        eager_speedup_high=eager.high if eager else None,
        compile_speedup=compiled.value if compiled else None,
        compile_speedup_low=compiled.low if compiled else None,
        compile_speedup_high=compiled.high if compiled else None,
        compile_error=measured.compile_error if measured else "",
        samples=list(measured.kernel.samples) if measured else None,
        eager_samples=list(measured.eager.samples) if measured else None,
        compile_samples=list(compile_timing.samples) if compile_timing else None,
        build_command=build.command if build else None,
        build_seconds=build.seconds if build else None,
        build_cached=build.cached if build else None,
        build_log=build.log if build else None,
        software=list(evaluation.software),
        seed=evaluation.seed,
        seconds=evaluation.seconds,
        created=evaluation.created or stored,
        labels=list(evaluation.labels),
        sandbox=evaluation.sandbox,
        ordinal=ordinal,
        stored=stored,
    )


def evaluation_of(row: s.EvaluationRow) -> r.Evaluation:
    return r.Evaluation(
        status=r.Status(row.status),
        device=row.device,
        protocol=_protocol_of(row),
        error=row.error,
        accuracy=_accuracy_of(row),
        measurement=_measurement_of(row),
        build=_build_of(row),
        software=tuple(row.software),
        seed=row.seed,
        seconds=row.seconds,
        created=row.created,
        labels=tuple(map(r.Label, row.labels)),
        sandbox=row.sandbox,
    )


def _protocol_of(row: s.EvaluationRow) -> r.Protocol:
    calls, version = row.nominal_calls, row.protocol_version
    return r.Protocol(row.tolerance, row.deadline_seconds, row.threads, calls, row.repeats, version)


def _accuracy_of(row: s.EvaluationRow) -> r.Accuracy | None:
    if row.calls is None:
        return None
    worst, eager = _real(row.worst_error), _real(row.eager_error)
    return r.Accuracy(row.calls, worst, eager, row.oracle or "", row.precision or "")


def _measurement_of(row: s.EvaluationRow) -> r.Measurement | None:
    if row.samples is None or row.eager_samples is None:
        return None
    return r.Measurement(
        kernel=r.Timing(tuple(row.samples)),
        eager=r.Timing(tuple(row.eager_samples)),
        eager_speedup=_ratio_of(row.eager_speedup, row.eager_speedup_low, row.eager_speedup_high),
        compile=r.Timing(tuple(row.compile_samples)) if row.compile_samples is not None else None,
        compile_speedup=_compile_speedup_of(row),
        compile_error=row.compile_error,
    )


def _compile_speedup_of(row: s.EvaluationRow) -> r.Ratio | None:
    if row.compile_samples is None:
        return None
    return _ratio_of(row.compile_speedup, row.compile_speedup_low, row.compile_speedup_high)


def _ratio_of(value: float | None, low: float | None, high: float | None) -> r.Ratio:
    return r.Ratio(_real(value), _real(low), _real(high))


def _build_of(row: s.EvaluationRow) -> r.Build | None:
    if row.build_command is None:
        return None
    return r.Build(row.build_command, row.build_seconds or 0.0, bool(row.build_cached), row.build_log or "")
