"""What the outputs of a call should be, and what of it the comparison with a kernel's needs each time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import torch

from treesearch.evaluation.quiet import Parts, parts
from treesearch.evaluation.rows import blocks
from treesearch.evaluation.threads import single_threaded

NONE: Mapping[int, Sequence[torch.Tensor]] = MappingProxyType({})


@dataclass(frozen=True)
class Norms:
    """Of an output's rows, one by one."""

    expected: torch.Tensor
    own: torch.Tensor
    """‖error‖ of the reference's own answer."""


@dataclass(frozen=True)
class Undecided:
    """Elements of an output that is not floating-point which hang on a rounding, as at the edge of two bins."""

    places: torch.Tensor
    """Indices into the flattened output."""
    values: torch.Tensor
    """What they may be beside what float64 says, one row for each way to round."""


@dataclass(frozen=True)
class Answers:
    """What a call's outputs should be, one item for each output."""

    expected: tuple[torch.Tensor, ...]
    """float64, or integer outputs as they are."""
    norms: tuple[Norms | None, ...]
    """None for integer outputs."""
    own_largest: tuple[float, ...]
    """Largest error of the reference's own answer in any element; 0 for integer outputs."""
    parts: tuple[Parts | None, ...]
    """None where elements are not results of their own, or it is not known how far operands move them."""
    undecided: tuple[Undecided | None, ...]
    """None for floating-point outputs."""


def compared(
    eager: Sequence[torch.Tensor], expected: Sequence[torch.Tensor], moved: Mapping[int, Sequence[torch.Tensor]] = NONE
) -> Answers:
    """Answers from the reference's own outputs and the float64 ones.

    `moved` has, by the places of outputs, what they are where operands are off: for single numbers by the tolerance,
    for what is not floating-point by what float32 leaves open.
    """
    norms: list[Norms | None] = []
    largest = []
    for own, want in zip(eager, expected, strict=True):
        if not want.is_floating_point():
            norms.append(None)
            largest.append(0.0)
            continue
        with single_threaded():
            seen = [_seen(got, wanted) for got, wanted in blocks(own, want)]
        norms.append(Norms(torch.cat([one.expected for one, _ in seen]), torch.cat([one.own for one, _ in seen])))
        largest.append(max(most for _, most in seen))
    others = [moved.get(place, ()) for place in range(len(expected))]
    known = [
        parts(want, own, other) if want.is_floating_point() else None
        for want, own, other in zip(expected, eager, others, strict=True)
    ]
    undecided = [
        None if want.is_floating_point() else _undecided(want, [own, *other])
        for want, own, other in zip(expected, eager, others, strict=True)
    ]
    return Answers(tuple(expected), tuple(norms), tuple(largest), tuple(known), tuple(undecided))


def _undecided(expected: torch.Tensor, others: Sequence[torch.Tensor]) -> Undecided:
    flat = torch.stack([other.flatten() for other in others])
    places = (flat != expected.flatten()).any(dim=0).nonzero().flatten()
    return Undecided(places, flat[:, places])


def _seen(own: torch.Tensor, expected: torch.Tensor) -> tuple[Norms, float]:
    """Of some rows: their norms, and the largest error in them."""
    error = own - expected
    return Norms(expected.norm(dim=1), error.norm(dim=1)), magnitude(error)


def magnitude(tensor: torch.Tensor) -> float:
    """Largest magnitude of floating-point elements; infinity where one of them is no number."""
    least, most = (float(end) for end in torch.aminmax(tensor))
    return max(-least, most) if least == least else math.inf
