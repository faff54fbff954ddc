"""Records as plain JSON values, with the same field names wherever they appear. Times are in milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from treesearch.archive import Finding
from treesearch.lineage import Lineage, Reviewed
from treesearch.records import (
    Configuration,
    Decision,
    Device,
    Entry,
    Evaluation,
    Idea,
    Purpose,
    Ratio,
    Remeasurement,
    Resources,
    Run,
    Spending,
)
from treesearch.roofline import Floor
from treesearch.view import text

if TYPE_CHECKING:
    from treesearch.forecast import Estimate

Json = dict[str, Any]


def evaluation(judged: Evaluation | None) -> Json:
    """A verdict; every field is there, null where there is nothing to say."""
    measured = judged.measurement if judged else None
    accuracy = judged.accuracy if judged else None
    return {
        "status": str(judged.status) if judged else None,
        "milliseconds": measured.kernel.median if measured else None,
        "quartiles": list(measured.kernel.quartiles) if measured else None,
        "samples": len(measured.kernel.samples) if measured else None,
        "eager_milliseconds": measured.eager.median if measured else None,
        "compile_milliseconds": measured.compile.median if measured and measured.compile else None,
        "compile_error": (measured.compile_error or None) if measured else None,
        "speedup": measured.speedup.value if measured else None,
        "speedup_interval": _interval(measured.speedup if measured else None),
        "eager_speedup": measured.eager_speedup.value if measured else None,
        "eager_speedup_interval": _interval(measured.eager_speedup if measured else None),
        "compile_speedup": measured.compile_speedup.value if measured and measured.compile_speedup else None,
        "compile_speedup_interval": _interval(measured.compile_speedup if measured else None),
        "worst_error": accuracy.worst_error if accuracy else None,
        "eager_error": accuracy.eager_error if accuracy else None,
        "elementwise_error": accuracy.elementwise if accuracy else None,
        "tolerance": judged.protocol.tolerance if judged else None,
        "precision": accuracy.precision if accuracy else None,
        "oracle": accuracy.oracle if accuracy else None,
        "checked_calls": accuracy.calls if accuracy else None,
        "error": (judged.error or None) if judged else None,
        "labels": [str(label) for label in judged.labels] if judged else None,
        "parent_speedup": measured.parent_speedup.value if measured and measured.parent_speedup else None,
        "parent_speedup_interval": _interval(measured.parent_speedup if measured else None),
        "fastest_torch": measured.fastest_torch.name if measured else None,
        "fastest_torch_speedup": _value(measured.fastest_torch.speedup) if measured else None,
        "fastest_torch_speedup_interval": _interval(measured.fastest_torch.speedup if measured else None),
        "configurations": list(map(configuration, measured.configurations)) if measured else None,
        "warm_milliseconds": measured.warm if measured else None,
        "conditions": asdict(measured.conditions) if measured and measured.conditions else None,
        "sandbox": (judged.sandbox or None) if judged else None,
        "device": judged.device if judged else None,
        "protocol": judged.protocol.id if judged else None,
        "software": list(judged.software) if judged else None,
        "build_seconds": judged.build.seconds if judged and judged.build else None,
        "seconds": judged.seconds if judged else None,
    }


def configuration(tried: Configuration) -> Json:
    """Torch under other settings: a time and the kernel's speed-up over it, or else an error."""
    return {
        "name": tried.name,
        "milliseconds": tried.timing.median if tried.timing else None,
        "speedup": _value(tried.speedup),
        "speedup_interval": _interval(tried.speedup),
        "error": tried.error or None,
    }


def remeasurement(measured: Remeasurement) -> Json:
    """A measurement after the verdict; `purpose` is `final` or `rebench`."""
    judged = measured.evaluation
    about = {"kernel": measured.kernel, "purpose": str(measured.purpose), "created": judged.created}
    return {**about, **evaluation(judged)}


def idea(proposed: Idea | None) -> Json | None:
    if proposed is None:
        return None
    return {
        "title": proposed.title,
        "category": str(proposed.category),
        "mechanism": proposed.mechanism,
        "expected_speedup": proposed.expected_speedup,
        "risk": proposed.risk,
        "refutation": proposed.refutation,
    }


def decision(made: Decision) -> Json:
    """What a person decided about an idea; `about` is the id of the proposal or addition that was pinned or banned."""
    return {
        "decision": made.id,
        "run": made.run,
        "verb": str(made.verb),
        "about": made.about or None,
        "parent": made.parent or None,
        "reason": made.reason or None,
        "by": made.by,
        "created": made.created,
        "idea": idea(made.idea),
    }


def entry(node: Entry, lineage: Lineage) -> Json:
    """`standing` is `suspect`, `re-opened` or `cleared` where something was found out after the verdict, else null.
    `hand` is what a person has done with the idea: `by hand`, `pinned`, `banned`."""
    reviewed = node if isinstance(node, Reviewed) else None
    parent = lineage.parent(node.kernel.id)
    return {
        "kernel": node.kernel.id,
        "run": node.kernel.run,
        "round": node.kernel.round,
        "ordinal": node.kernel.ordinal,
        "parent": parent.kernel.id if parent else None,
        "inspired_by": list(lineage.inspirations(node.kernel.id)),
        "idea": idea(node.kernel.idea),
        "idea_id": node.kernel.proposal.id if node.kernel.proposal else None,
        "hand": [text.HAND[verb] for verb in node.kernel.proposal.verbs] if node.kernel.proposal else [],
        "standing": str(reviewed.standing) if reviewed else None,
        "standing_reason": reviewed.reason if reviewed else None,
        **evaluation(node.evaluation),
    }


def history(
    verdicts: Sequence[Evaluation], findings: Sequence[Finding], measured: Sequence[Remeasurement] = ()
) -> Json:
    """All verdicts on a kernel as they were given, later measurements, and what was found out, each oldest first."""
    return {
        "verdicts": [{"created": one.created, **evaluation(one)} for one in verdicts],
        "remeasurements": list(map(remeasurement, measured)),
        "findings": [
            {"kind": str(one.kind), "reason": one.reason, "by": one.by, "created": one.created} for one in findings
        ],
    }


def run(
    found: Run,
    lineage: Lineage,
    hardware: Device,
    bound: Floor | None = None,
    measured: Sequence[Remeasurement] = (),
    spent: Spending | None = None,
) -> Json:
    """A run with all its kernels, and the later measurements of these. `final` is the winner's: the figure to publish,
    taken after the selection; null where there is none. `stopped` is the limit that the run ended at, if it did."""
    fastest = lineage.fastest()
    return {
        "run": found.id,
        "problem": found.problem_name,
        "problem_digest": found.problem,
        "state": str(found.state),
        "stopped": found.stopped or None,
        "created": found.created,
        "models": list(found.config.named_models),
        "rounds": found.config.rounds,
        "budget": asdict(found.config.budget),
        "spent": asdict(spent) if spent else None,
        "language": found.config.language,
        "device": device(hardware),
        **floor(bound),
        "winner": entry(fastest, lineage) if fastest else None,
        "final": final(measured, fastest, hardware),
        "remeasurements": list(map(remeasurement, measured)),
        "kernels": [entry(node, lineage) for node in lineage.entries],
    }


def estimate(found: Estimate) -> Json:
    """What a search would take; `cost_usd` is null where a model is unpriced."""
    return {**asdict(found), "input_tokens": found.input_tokens, "output_tokens": found.output_tokens}


def final_of(measured: Sequence[Remeasurement], kernel: str, device: str) -> Evaluation | None:
    """The newest final measurement of a kernel on a device, by their ids."""
    about = [one.evaluation for one in measured if (one.kernel, one.purpose) == (kernel, Purpose.FINAL)]
    return next((judged for judged in reversed(about) if judged.device == device), None)


def final(measured: Sequence[Remeasurement], winner: Entry | None, hardware: Device) -> Json | None:
    judged = final_of(measured, winner.kernel.id, hardware.id) if winner else None
    return {"created": judged.created, **evaluation(judged)} if judged else None


def device(hardware: Device) -> Json:
    return {
        "id": hardware.id,
        "kind": hardware.kind,
        "name": hardware.name,
        "cores": hardware.cores,
        "memory_bytes": hardware.memory_bytes,
        "features": list(hardware.features),
        "caches": list(hardware.caches),
        "architecture": hardware.architecture or None,
        "clock_mhz": hardware.clock_mhz,
        "memory_clock_mhz": hardware.memory_clock_mhz,
        "shared_memory_bytes": hardware.shared_memory_bytes,
        "bandwidth": hardware.bandwidth,
        "rates": [asdict(rate) for rate in hardware.rates],
        "noise": hardware.noise,
        "software": list(hardware.software),
    }


def floor(bound: Floor | None) -> Json:
    """The roofline floor of a problem on a device and what sets it; null where the device was not measured."""
    return {
        "floor_milliseconds": bound.milliseconds if bound else None,
        "floor_bound": bound.bound if bound else None,
    }


def resources(taken: Sequence[Resources]) -> list[Json]:
    """What the compiler said that each device function takes."""
    return [asdict(one) for one in taken]


def trajectory(path: Sequence[Entry], lineage: Lineage, bound: Floor | None = None) -> list[Json]:
    """Root to winner, one object a step; `reference_percent` is the eager reference's time ÷ the kernel's, in %."""
    return [{**entry(node, lineage), "reference_percent": reference_percent(node), **floor(bound)} for node in path]


def reference_percent(node: Entry) -> float | None:
    measured = node.evaluation.measurement if node.evaluation else None
    return 100 * measured.eager_speedup.value if measured else None


def _value(ratio: Ratio | None) -> float | None:
    return ratio.value if ratio else None


def _interval(ratio: Ratio | None) -> list[float] | None:
    return [ratio.low, ratio.high] if ratio else None
