"""Verdicts, later measurements and comparisons to rows and back: pure functions, no database."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from treesearch import records as r
from treesearch.archive import schema as s
from treesearch.archive.mapping import now, real, storable
from treesearch.records import codec


def evaluation_row(kernel: str, evaluation: r.Evaluation, ordinal: int) -> s.EvaluationRow:
    """`ordinal` counts the kernel's verdicts on that device, from 1."""
    protocol, accuracy, build = evaluation.protocol, evaluation.accuracy, evaluation.build
    measured = evaluation.measurement
    eager = measured.eager_speedup if measured else None
    compiled = measured.compile_speedup if measured else None
    compile_timing = measured.compile if measured else None
    parent = measured.parent_speedup if measured else None
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
        worst_error=storable(accuracy.worst_error) if accuracy else None,
        eager_error=storable(accuracy.eager_error) if accuracy else None,
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
        profile=evaluation.profile,
        conditions=_members(measured.conditions) if measured and measured.conditions else None,
        warm_milliseconds=measured.warm if measured else None,
        parent_speedup=parent.value if parent else None,
        parent_speedup_low=parent.low if parent else None,
        parent_speedup_high=parent.high if parent else None,
        elementwise_error=accuracy.elementwise if accuracy else None,
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
        profile=row.profile,
    )


def _protocol_of(row: s.EvaluationRow) -> r.Protocol:
    calls, version = row.nominal_calls, row.protocol_version
    return r.Protocol(row.tolerance, row.deadline_seconds, row.threads, calls, row.repeats, version)


def _accuracy_of(row: s.EvaluationRow) -> r.Accuracy | None:
    if row.calls is None:
        return None
    worst, eager = real(row.worst_error), real(row.eager_error)
    return r.Accuracy(row.calls, worst, eager, row.oracle or "", row.precision or "", row.elementwise_error)


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
        conditions=codec.decode(r.Conditions, row.conditions) if row.conditions is not None else None,
        warm=row.warm_milliseconds,
        parent_speedup=_parent_speedup_of(row),
    )


def _compile_speedup_of(row: s.EvaluationRow) -> r.Ratio | None:
    if row.compile_samples is None:
        return None
    return _ratio_of(row.compile_speedup, row.compile_speedup_low, row.compile_speedup_high)


def _parent_speedup_of(row: s.EvaluationRow) -> r.Ratio | None:
    if row.parent_speedup is None:
        return None
    return _ratio_of(row.parent_speedup, row.parent_speedup_low, row.parent_speedup_high)


def _ratio_of(value: float | None, low: float | None, high: float | None) -> r.Ratio:
    return r.Ratio(real(value), real(low), real(high))


def _build_of(row: s.EvaluationRow) -> r.Build | None:
    if row.build_command is None:
        return None
    return r.Build(row.build_command, row.build_seconds or 0.0, bool(row.build_cached), row.build_log or "")


# ── measured again ──────────────────────────────────────────────────────────────────────────────


def remeasurement_row(measured: r.Remeasurement) -> s.RemeasurementRow:
    evaluation = measured.evaluation
    created = evaluation.created or now()
    return s.RemeasurementRow(
        kernel=measured.kernel,
        purpose=measured.purpose,
        device=evaluation.device,
        milliseconds=evaluation.milliseconds,
        evaluation=_members(replace(evaluation, created=created)),
        created=created,
    )


def _members(record: object) -> dict[str, Any]:
    return cast(dict[str, Any], codec.encode(record))


def remeasurement_of(row: s.RemeasurementRow) -> r.Remeasurement:
    return r.Remeasurement(row.kernel, r.Purpose(row.purpose), codec.decode(r.Evaluation, row.evaluation))


def comparison_row(compared: r.Comparison) -> s.ComparisonRow:
    return s.ComparisonRow(
        first=compared.first,
        second=compared.second,
        device=compared.device,
        ratio=compared.ratio.value,
        low=compared.ratio.low,
        high=compared.ratio.high,
        pairs=compared.pairs,
        outcome=compared.outcome,
        created=compared.created or now(),
    )


def comparison_of(row: s.ComparisonRow) -> r.Comparison:
    ratio, outcome = r.Ratio(row.ratio, row.low, row.high), r.Outcome(row.outcome)
    return r.Comparison(row.first, row.second, row.device, ratio, row.pairs, outcome, row.created)
