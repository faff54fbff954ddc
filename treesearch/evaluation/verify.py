"""Whether outputs are right, row by row, against a float64 answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch

from treesearch.evaluation.answers import Answers, Norms, Undecided
from treesearch.evaluation.buffers import as_words
from treesearch.evaluation.calls import NOMINAL
from treesearch.evaluation.checks import NONE, Check, Checks
from treesearch.evaluation.quiet import Parts
from treesearch.evaluation.rows import blocks, rows
from treesearch.evaluation.ties import Picked
from treesearch.records import SHORTEST_ROW, Problem, Role

EAGER_FACTOR = 4.0
"""A kernel may err this many times as much as the reference itself does, where that exceeds the tolerance."""
PRECISIONS = ("float32-like", "float16-like", "lower")
FLOAT32, FLOAT16 = 1e-4, 1e-3
"""The largest errors of nominal rows that are called like float32, and like float16."""
ZERO = 1e-6
"""A row this small beside the whole output counts as zero and is judged absolutely."""
UNDERFLOW = torch.finfo(torch.float32).tiny
"""So does a row whose elements are this small on average: float32 has no more than a few bits for them, or none."""
HALF_STEP = 2.0**-24
"""What lies between neighbours among the smallest numbers of float16: beside other numbers, nobody is held to less."""
ROUNDING = 1e-6
VOWELS = "aeiou"
SHOWN = 4
"""Wrong elements that a failure shows."""
SLICE = 1 << 22
"""Elements that are looked through at a time for the first wrong ones."""


@dataclass(frozen=True)
class Checked:
    """What one checked call showed. Errors are ‖error‖ ÷ ‖reference‖ of the worst row that is not zero; `elementwise`,
    of a nominal call, is the smallest tolerance that each element is within, as both rtol and atol."""

    worst_error: float
    eager_error: float
    failure: str = ""
    elementwise: float | None = None


def check(
    problem: Problem, stratum: str, answers: Answers, outputs: list[torch.Tensor], without: Checks = NONE
) -> Checked:
    """Judge the outputs of one call.

    Floating-point outputs: per row of the last dimension, ‖error‖ ≤ max(tolerance · ‖reference‖, 4 × the
    reference's own ‖error‖), zero rows absolutely; of outputs of single numbers the same per part (`quiet.py`), where
    operands that are off by the tolerance are excused as well; nominal calls also elementwise, like torch.allclose
    with the tolerance as both rtol and atol. Other outputs must be equal. Elements that hang on how float32 rounds, of
    those and of floating-point ones that jump, may be what operands give that are off so much. What is not finite is
    wrong in any case.
    """
    worst, eager_worst, elementwise = 0.0, 0.0, 0.0
    names = [argument.name for argument in problem.signature.of(Role.OUTPUT)]
    owns = zip(answers.norms, answers.own_largest, answers.parts, answers.undecided, strict=True)
    each = zip(names, outputs, answers.expected, owns, strict=True)
    for place, (name, out, expected, own) in enumerate(each):
        norms, own_largest, parts, undecided = own
        where = f"output {name} of {'an' if stratum[:1] in VOWELS else 'a'} {stratum} call"
        if norms is None:
            if not answers.unsaid and (failure := _unequal(out, expected, undecided, answers.picked.get(place))):
                return Checked(worst, eager_worst, f"{where}: {failure}")
            continue
        judged = partial(_floating, out, nominal=stratum == NOMINAL, tolerance=problem.tolerance, without=without)
        checked = judged(expected, norms, own_largest, parts)
        # Where it jumps, an answer may be beyond the jump; to see where takes a while, and concerns few references.
        if checked.failure and (jumps := answers.jumps(place)):
            checked = judged(jumps.settled(out, expected), norms, own_largest, parts)
        elementwise = max(elementwise, checked.elementwise or 0.0)
        worst, eager_worst = max(worst, checked.worst_error), max(eager_worst, checked.eager_error)
        if checked.failure:
            return Checked(worst, eager_worst, f"{where}: {checked.failure}")
    return Checked(worst, eager_worst, elementwise=elementwise if stratum == NOMINAL else None)


def _floating(
    out: torch.Tensor,
    expected: torch.Tensor,
    norms: Norms,
    own_largest: float,
    parts: Parts | None,
    *,
    nominal: bool,
    tolerance: float,
    without: Checks,
) -> Checked:
    """One floating-point output, up to the first check that finds something; of a nominal call `elementwise` too."""
    errors = torch.cat([(got - wanted).norm(dim=1) for got, wanted in blocks(out, expected)])
    elementwise = max(_largest(*block) for block in blocks(out, expected)) if nominal else None
    checked = replace(_check(out, expected, errors, norms, tolerance, without), elementwise=elementwise)
    if parts and not checked.failure and Check.ROWS not in without:
        checked = replace(checked, failure=_quiet(out, expected, parts, tolerance))
    if nominal and not checked.failure and Check.ELEMENTS not in without:
        checked = replace(checked, failure=_elementwise(out, expected, errors, own_largest, tolerance))
    return checked


def _largest(out: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest |error| ÷ (1 + |reference|) of an element."""
    return float((out - expected).abs_().div_(expected.abs().add_(1)).max())


def same_bits(left: Sequence[torch.Tensor], right: Sequence[torch.Tensor]) -> bool:
    """Whether two lists of outputs are equal bit by bit."""
    return all(torch.equal(as_words(one), as_words(other)) for one, other in zip(left, right, strict=True))


def precision(checks: Sequence[Checked]) -> str:
    """What precision a kernel's errors amount to: that of the nominal call on which it is lowest.

    Rounding a row to float16, or factors to it or to tf32, costs the row some 2e-4, to bfloat16 1.6e-3; a plain float32
    sum of thousands of terms stays below 1e-4. Stressed calls say less: where terms cancel, float32 errs as much. Nor
    does the reference's own error excuse a kernel here, since torch computes convolutions in tf32.
    """
    worst = max((checked.worst_error for checked in checks if checked.elementwise is not None), default=0.0)
    if worst <= FLOAT32:
        return PRECISIONS[0]
    return PRECISIONS[1] if worst <= FLOAT16 else PRECISIONS[2]


def _check(
    out: torch.Tensor, expected: torch.Tensor, error_norms: torch.Tensor, of: Norms, tolerance: float, without: Checks
) -> Checked:
    norms, eager_norms = of.expected, of.own
    length = expected.numel() // len(norms)
    beside_others = ZERO * float(norms.norm()) / math.sqrt(len(norms))  # that is, beside the root mean square row
    zero = norms <= max(beside_others, UNDERFLOW * math.sqrt(length))
    allowed = torch.maximum(tolerance * norms, EAGER_FACTOR * eager_norms)
    allowed[zero] = torch.maximum(allowed[zero], torch.full_like(allowed[zero], tolerance))
    divisor = torch.where(zero, torch.inf, norms)
    worst, eager_worst = float((error_norms / divisor).max()), float((eager_norms / divisor).max())
    if not bool(torch.isfinite(error_norms).all()):
        return Checked(float("inf"), eager_worst, _not_finite(out, expected))
    beyond = error_norms > allowed
    if Check.ROWS not in without and bool(beyond.any()):
        row = int((error_norms / allowed.clamp_min(1e-300)).argmax())
        failure = _row_failure(out, expected, row, int(beyond.sum()), eager_norms, tolerance)
        # Those with their share or more of what their row may err: a row beyond it has at least one.
        share = (1 - ROUNDING) * allowed / math.sqrt(length)
        wrong = (rows(out - expected).abs() >= share[:, None]) & beyond[:, None]
        return Checked(worst, eager_worst, f"{failure}\n{_first_wrong(out, expected, wrong)}")
    return Checked(worst, eager_worst)


def _quiet(out: torch.Tensor, expected: torch.Tensor, parts: Parts, tolerance: float) -> str:
    """What is wrong with the first part that errs too much, from the loudest down."""
    error = parts.squares(out - expected)
    excused = EAGER_FACTOR**2 * parts.own, parts.moved, HALF_STEP**2 * parts.count
    allowed = torch.stack([tolerance**2 * parts.expected, *excused]).amax(dim=0)
    zero = parts.expected <= parts.count * UNDERFLOW**2
    allowed[zero] = allowed[zero].clamp_min(tolerance**2)
    beyond = (error > allowed) & (parts.count >= SHORTEST_ROW)
    if not bool(beyond.any()):
        return ""
    part = int(beyond.nonzero()[0])
    count, wanted = int(parts.count[part]), float(parts.expected[part])
    relative, own = (math.sqrt(float(of[part]) / wanted) if wanted else math.inf for of in (error, parts.own))
    inside = parts.inside(part).reshape(expected.shape)
    wrong = inside & ((out - expected).abs() >= (1 - ROUNDING) * math.sqrt(float(allowed[part]) / count))
    return (
        f"the {count} of {out.numel()} elements of magnitude {float(expected[inside].abs().max()):.3g} and less are, "
        f"taken together, beyond the tolerance of {tolerance:g}: ‖error‖ ÷ ‖reference‖ is {relative:.3g} (eager's own: "
        f"{own:.2g})\n{_first_wrong(out, expected, wrong)}"
    )


def _elementwise(
    out: torch.Tensor, expected: torch.Tensor, error_norms: torch.Tensor, own_largest: float, tolerance: float
) -> str:
    least = EAGER_FACTOR * own_largest
    if bool((error_norms <= max(tolerance, least)).all()):  # no element errs by more than its row
        return ""
    if not any(bool(_beyond(*block, tolerance, least).any()) for block in blocks(out, expected)):
        return ""
    beyond = _beyond(out, expected, tolerance, least)
    flat = int(((out - expected).abs() * beyond).argmax())
    return (
        f"{int(beyond.sum())} of {out.numel()} elements beyond rtol = atol = {tolerance:g}; the worst at "
        f"{_position(flat, out)}: got {float(out.flatten()[flat]):.7g}, expected {float(expected.flatten()[flat]):.7g}"
        f"\n{_first_wrong(out, expected, beyond)}"
    )


def _beyond(out: torch.Tensor, expected: torch.Tensor, tolerance: float, least: float) -> torch.Tensor:
    """Which elements err by more than the tolerance, as rtol and atol, and by more than `least`."""
    return (out - expected).abs_() > expected.abs().mul_(tolerance).add_(tolerance).clamp_min_(least)


def _row_failure(
    out: torch.Tensor,
    expected: torch.Tensor,
    row: int,
    count: int,
    eager_norms: torch.Tensor,
    tolerance: float,
) -> str:
    got, wanted = rows(out)[row].double(), rows(expected)[row]
    column = int((got - wanted).abs().argmax())
    flat = row * wanted.numel() + column
    relative = float((got - wanted).norm() / wanted.norm().clamp_min(1e-300))
    own = float(eager_norms[row] / wanted.norm().clamp_min(1e-300))
    return (
        f"{count} of {len(eager_norms)} rows beyond the tolerance of {tolerance:g}; in the worst, ‖error‖ ÷ "
        f"‖reference‖ is {relative:.3g} (eager's own: {own:.2g}), its largest error at {_position(flat, out)}: "
        f"got {float(got[column]):.7g}, expected {float(wanted[column]):.7g}"
    )


def _not_finite(out: torch.Tensor, expected: torch.Tensor) -> str:
    bad = ~torch.isfinite(out)
    if not bool(bad.any()):  # so far off that the square of it is no number any more
        bad = (out - expected).abs() == (out - expected).abs().max()
        return f"an element is further off than numbers reach\n{_first_wrong(out, expected, bad)}"
    flat = int(bad.flatten().int().argmax())
    count = int(bad.sum())
    return (
        f"{count} of {out.numel()} elements are not finite, the first at {_position(flat, out)} "
        f"({float(out.flatten()[flat])}); outputs are NaN before the launch, so it may never have been written"
        f"\n{_first_wrong(out, expected, bad)}"
    )


def _unequal(
    out: torch.Tensor, expected: torch.Tensor, undecided: Undecided | None, picked: Picked | None = None
) -> str:
    out, expected = _as_numbers(out), _as_numbers(expected)
    different = (out != expected).flatten()
    if undecided:
        different[undecided.places] &= ~undecided.excuse(_as_numbers(out.flatten()[undecided.places]))
    if picked and bool(different.any()):
        different &= ~picked.excuse(out, expected).flatten()
    if not bool(different.any()):
        return ""
    flat = int(different.int().argmax())
    return (
        f"{int(different.sum())} of {out.numel()} elements differ, the first at {_position(flat, out)}: "
        f"got {out.flatten()[flat].item()}, expected {expected.flatten()[flat].item()}"
        f"\n{_first_wrong(out, expected, different)}"
    )


def _as_numbers(tensor: torch.Tensor) -> torch.Tensor:
    """Truths as the bytes that they are: torch takes any that is not 0 for true."""
    return tensor.view(torch.uint8) if tensor.dtype is torch.bool else tensor


def _first_wrong(out: torch.Tensor, expected: torch.Tensor, wrong: torch.Tensor) -> str:
    """Where in an output the wrong elements are, and what the first of them hold."""
    places = wrong.flatten()
    got, wanted = out.flatten(), expected.flatten()
    shown = [
        f"{_position(flat, out)} got {_number(got[flat])}, expected {_number(wanted[flat])}"
        for flat in _first(places, SHOWN)
    ]
    last = places.numel() - 1 - _first(places.flip(0), 1)[0]
    count = int(wrong.sum())
    counted = "1 element is" if count == 1 else f"{count} elements are"
    return f"shape {_shape(out)}: {counted} wrong, the last at {_position(last, out)}; the first: {'; '.join(shown)}"


def _first(places: torch.Tensor, count: int) -> list[int]:
    """Indices of the first that are true."""
    found: list[int] = []
    for start in range(0, places.numel(), SLICE):
        found += [start + int(one) for one in places[start : start + SLICE].nonzero().flatten()[: count - len(found)]]
        if len(found) == count:
            break
    return found


def _number(element: torch.Tensor) -> str:
    return f"{float(element):.7g}" if element.is_floating_point() else str(element.item())


def _shape(tensor: torch.Tensor) -> str:
    return "(" + ", ".join(map(str, tensor.shape)) + ")"


def _position(flat: int, tensor: torch.Tensor) -> str:
    position = [int(index) for index in torch.unravel_index(torch.tensor(flat), tensor.shape)] if tensor.dim() else []
    return "(" + ", ".join(map(str, position)) + ")"
