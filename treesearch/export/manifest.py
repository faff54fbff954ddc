"""What an export says of itself, as JSON: files, origin, verdict, figures, cost."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treesearch.export import folder
from treesearch.export.exported import Exported
from treesearch.export.module import remarks
from treesearch.records import Evaluation, Measurement, Ratio, Timing, codec
from treesearch.records.kernels import Proposal

if TYPE_CHECKING:  # it imports torch, which a dataset has no use for
    from treesearch.export.verifying import Verification

Json = dict[str, Any]

METHOD = (
    "Median over nominal calls on distinct inputs with cold caches, in a process of the kernel's own, launched in turn "
    "with the baselines; ratios of medians with 95 % bootstrap intervals over pairs."
)


def finish(work: Path, format: str, subject: str, members: Mapping[str, Any]) -> Json:
    """Write the manifest of what lies in an export's folder, which is then whole; returns it.

    `subject` is what was exported, by id: with `format` it tells one export from another. No member says that a person
    has looked at what models wrote, since treesearch cannot know.
    """
    whole = {
        "format": format,
        "subject": subject,
        "made_by": f"treesearch {version('treesearch')}",
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "human_reviewed": False,
        **members,
        "files": folder.hashes(work),
    }
    text = json.dumps(whole, indent=2, allow_nan=False)  # ASCII: no character of a model's reaches a terminal
    (work / folder.MANIFEST).write_text(text + "\n")
    return whole


def of_kernel(exported: Exported, verification: Verification) -> Json:
    """The members that every export of one kernel has."""
    kernel = exported.entry.kernel
    return {
        "kernel": {
            "id": kernel.id,
            "run": kernel.run,
            "language": kernel.language,
            "source_digest": kernel.digest,
            "labels": list(map(str, exported.evaluation.labels)),
        },
        "problem": _problem(exported),
        "ancestors": _ancestors(exported),
        "device": codec.encode(exported.device),
        "software": list(exported.evaluation.software),
        "build": exported.evaluation.build.command if exported.evaluation.build else None,
        "verified_now": verification.evaluation is not None,
        "verification": _verification(verification),
        "accuracy": _accuracy(exported.evaluation),
        "timing": {**_timing(exported.evaluation), "after_selection": exported.is_final},
        "remarks": remarks(exported),
        "cost_of_run": codec.encode(exported.spent),
    }


def _problem(exported: Exported) -> Json:
    problem = exported.problem
    arguments = [
        {"name": one.name, "origin": one.origin, "role": str(one.role), "dtype": one.dtype, "shape": list(one.shape)}
        for one in problem.signature.arguments
    ]
    return {
        "name": problem.name,
        "digest": problem.digest,
        "precision": problem.precision,
        "tolerance": problem.tolerance,
        "arguments": arguments,
    }


def _ancestors(exported: Exported) -> list[Json]:
    """From the root down to the kernel: each step's idea, who had it, who wrote it, and how fast that was."""
    return [
        {
            "kernel": node.kernel.id,
            "round": node.kernel.round,
            "idea": _idea(exported, node.kernel.proposal),
            "written_by": _author(exported, node.kernel.answer),
            "milliseconds": node.milliseconds,
        }
        for node in exported.path
    ]


def _idea(exported: Exported, proposal: Proposal | None) -> Json | None:
    """None for a kernel of round 0, which implements the problem itself."""
    if proposal is None:
        return None
    idea = proposal.idea
    return {
        "title": idea.title,
        "category": str(idea.category),
        "mechanism": idea.mechanism,
        "expected_speedup": idea.expected_speedup,
        "proposed_by": _author(exported, proposal.answer) if proposal.answer else {"person": True},
    }


def _author(exported: Exported, request: str) -> Json | None:
    """Who answered, None where the archive does not hold the answer."""
    answer = exported.answers.get(request)
    if answer is None:
        return None
    return {"model": answer.model, "answered_by": answer.answered_by or None, "help": answer.help or None}


def _verification(verification: Verification) -> Json:
    evaluation, device = verification.evaluation, verification.device
    if evaluation is None or device is None:
        return {"not_done": verification.absent}
    return {
        "device": device.name,
        "software": list(evaluation.software),
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "accuracy": _accuracy(evaluation),
        "milliseconds": evaluation.milliseconds,
        "eager_speedup": _ratio(evaluation.measurement.eager_speedup) if evaluation.measurement else None,
    }


def _accuracy(evaluation: Evaluation) -> Json | None:
    """The largest error seen, as ‖error‖ ÷ ‖reference‖ of the worst row, beside what was allowed."""
    if evaluation.accuracy is None:
        return None
    seen = evaluation.accuracy
    return {
        "tolerance": evaluation.protocol.tolerance,
        "worst_error": _finite(seen.worst_error),
        "eager_error": _finite(seen.eager_error),
        "elementwise_error": seen.elementwise,
        "checked_calls": seen.calls,
        "oracle": seen.oracle,
        "precision": seen.precision,
    }


def _timing(evaluation: Evaluation) -> Json:
    measured = evaluation.measurement
    assert measured is not None, "a verified kernel is timed"
    return {
        "method": METHOD,
        "protocol": codec.encode(evaluation.protocol),
        "created": evaluation.created or None,
        **_times(measured.kernel),
        "warm_milliseconds": measured.warm,
        "conditions": codec.encode(measured.conditions),
        "baselines": _baselines(measured),
    }


def _baselines(measured: Measurement) -> list[Json]:
    """Torch as it is, compiled, and under other settings where the kernel was measured for good."""
    found: list[Json] = [{"name": "eager", **_times(measured.eager), "speedup": _ratio(measured.eager_speedup)}]
    if measured.compile and measured.compile_speedup:
        compiled = {"name": "torch.compile", **_times(measured.compile), "speedup": _ratio(measured.compile_speedup)}
        found.append(compiled)
    elif measured.compile_error:
        found.append({"name": "torch.compile", "error": measured.compile_error})
    for one in measured.configurations:
        times = {**_times(one.timing), "speedup": _ratio(one.speedup)} if one.timing else {"error": one.error}
        found.append({"name": one.name, **times})
    return found


def _times(timing: Timing) -> Json:
    return {"milliseconds": timing.median, "quartiles": list(timing.quartiles), "samples": len(timing.samples)}


def _ratio(ratio: Ratio | None) -> Json | None:
    return {"value": ratio.value, "interval_95": [ratio.low, ratio.high]} if ratio else None


def _finite(error: float) -> Any:
    return codec.encode(error)
