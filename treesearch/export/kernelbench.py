"""The format `kernelbench`: reference and ModelNew in one folder, as KernelBench's evaluator takes them.

It draws weights and inputs from the same seeds for both, converts both to one precision, and compares every element by
`torch.allclose` (`get_tolerance_for_precision` in its eval.py: 1e-4 for float32, 1e-2 for the halves).
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treesearch.export import checks, module
from treesearch.export.checks import Tolerance
from treesearch.export.exported import Exported
from treesearch.export.files import Files
from treesearch.records import Accuracy, Role

FILE = "model_new"
TOLERANCES = {"float32": 1e-4, "float16": 1e-2, "bfloat16": 1e-2}
SHORT = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}


@dataclass(frozen=True)
class Standing:
    """How a kernel stands under KernelBench's own check."""

    precision: str
    """What its evaluator is to be told, as torch names it."""
    tolerance: Tolerance
    remarks: tuple[str, ...]


def standing(exported: Exported) -> Standing:
    inputs = [one.dtype for one in exported.problem.signature.of(Role.INPUT)]
    precision = next((dtype for dtype in inputs if dtype in TOLERANCES), "float32")
    tolerance = TOLERANCES[precision]
    met, remarks = _met(exported.evaluation.accuracy, tolerance)
    if others := sorted({dtype for dtype in inputs if dtype != precision}):
        remarks.append(f"KernelBench makes {precision} of inputs of {', '.join(others)}, which the kernel is not for")
    return Standing(precision, Tolerance(tolerance, met), tuple(remarks))


def _met(accuracy: Accuracy | None, tolerance: float) -> tuple[bool | None, list[str]]:
    """Whether errors from the exact answer leave room for KernelBench's comparison, which is with the reference.

    They are the largest of all checked calls, of which KernelBench draws only the nominal ones.
    """
    assert accuracy is not None, "it was verified"
    own, eager = accuracy.worst_error, accuracy.eager_error
    if max(own, eager) <= tolerance:
        return True, []
    seen = f"the largest error that was seen is {own:.2g}, the reference's own {eager:.2g}"
    if eager <= tolerance:
        return False, [f"{seen}: it is not within KernelBench's {tolerance:g}"]
    return None, [f"{seen}: whether it is within KernelBench's {tolerance:g} is for test_{FILE}.py to say"]


def files(exported: Exported) -> Files:
    sealed = exported.language.sealed
    model_new = module.generated(exported, FILE, frozen=True) if sealed else exported.source
    return {
        "reference.py": exported.problem.source,
        f"{FILE}.py": model_new,
        f"test_{FILE}.py": checks.generated(exported, FILE, other=standing(exported).tolerance),
    }


def use(exported: Exported, target: Path) -> tuple[str, str]:
    found = standing(exported)
    judged = f"eval_kernel_against_ref(reference, model_new, precision=torch.{found.precision})"
    return f"{judged}  # the texts of both files", f"pytest {shlex.quote(str(target / f'test_{FILE}.py'))}"


def known(exported: Exported) -> dict[str, Any]:
    found = standing(exported)
    return {
        "kernelbench": {
            "precision": found.precision,
            "tolerance": found.tolerance.value,
            "within_tolerance": found.tolerance.met,
        },
        "remarks": [*module.remarks(exported), *found.remarks],
    }
