"""What the outputs of a call should be, and what of it the comparison with a kernel's needs each time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain
from types import MappingProxyType

import torch

from treesearch.evaluation.jumps import AS_MANY, AT_LEAST, Jumps
from treesearch.evaluation.quiet import Parts, parts
from treesearch.evaluation.rows import blocks
from treesearch.evaluation.threads import single_threaded
from treesearch.evaluation.ties import Picked

CLOSE = 2.0**-16
"""Integers that differ by no more than this share of them, by what operands in float32 leave open, are close."""
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
    """What they may be, float64's answer first, one row for each way to round. Integers that are all close together
    are steps of a scale, of which those in between are as good; far apart, as indices are, they are names."""
    most: int
    """How many of them may be other than float64 says."""
    fields: int = 1
    """Of how many decisions each is made: of two or more, as where numbers share a word's digits, what is between
    others is no step."""

    def excuse(self, got: torch.Tensor) -> torch.Tensor:
        """Which of a kernel's answers in these places may stand, if not too many of them do; truths are bytes."""
        values = self.values.view(torch.uint8) if self.values.dtype is torch.bool else self.values
        said = (got == values).any(dim=0)
        steps = self.values.dtype is not torch.bool and self.fields == 1
        may_stand = said | self._between(got) if steps else said
        return may_stand & (int((may_stand & (got != values[0])).sum()) <= self.most)

    def _between(self, got: torch.Tensor) -> torch.Tensor:
        """Which lie between close ones, and differ from one of them by whole steps."""
        least, most = self.values.amin(dim=0), self.values.amax(dim=0)
        close = (most - least).double() <= CLOSE * torch.maximum(least.double().abs(), most.double().abs())
        steps = (got - self.values) % self._step() == 0
        return close & (least <= got) & (got <= most) & steps.any(dim=0)

    def _step(self) -> int:
        """What most elements' values are apart by, or by a multiple of: 1 on a scale, more where an index stands in the
        digits below it."""
        apart = (self.values.long() - self.values[0].long()).abs()
        common = reduce(torch.gcd, apart)
        return max(1, int(common.median())) if common.numel() else 1


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
    jumps: Callable[[int], Jumps | None] = lambda place: None
    """Where a floating-point output hangs on a rounding, by its place; None where it is not known, and nowhere else.
    It takes a while to say."""
    picked: Mapping[int, Picked] = field(default_factory=dict)
    """Outputs of indices that are judged by what they name, by their places."""
    unsaid: bool = False
    """Whether floating-point outputs alone are judged: others name what was taken of numbers that rounding made equal.
    """

    @property
    def tensors(self) -> tuple[torch.Tensor, ...]:
        """Those that are as large as outputs, or larger."""
        numbers = [(one.numbers, *([one.rounded.numbers] if one.rounded else ())) for one in self.picked.values()]
        return (*self.expected, *chain.from_iterable(numbers))


def compared(
    eager: Sequence[torch.Tensor],
    expected: Sequence[torch.Tensor],
    moved: Mapping[int, Sequence[torch.Tensor]] = NONE,
    *,
    exact: bool = True,
    fields: Sequence[int] = (),
) -> Answers:
    """Answers from the reference's own outputs and the float64 ones, or what stands for those where there are none that
    are `exact`.

    `moved` has, by the places of outputs, what they are where operands are off: for single numbers by the tolerance,
    for what is not floating-point by what float32 leaves open. `fields` says of each output of how many decisions it
    is made (`Undecided.fields`); of one, where it says nothing.
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
        None if want.is_floating_point() else replace(_undecided(want, own, other, exact=exact), fields=number)
        for want, own, other, number in zip(expected, eager, others, fields or [1] * len(expected), strict=True)
    ]
    return Answers(tuple(expected), tuple(norms), tuple(largest), tuple(known), tuple(undecided))


def _undecided(expected: torch.Tensor, own: torch.Tensor, others: Sequence[torch.Tensor], *, exact: bool) -> Undecided:
    flat = torch.stack([other.flatten() for other in (expected, own, *others)])
    places = (flat != flat[0]).any(dim=0).nonzero().flatten()
    most = max(AT_LEAST, AS_MANY * int((flat[1] != flat[0]).sum())) if exact else flat.shape[1]
    return Undecided(places, flat[:, places], most)


def _seen(own: torch.Tensor, expected: torch.Tensor) -> tuple[Norms, float]:
    """Of some rows: their norms, and the largest error in them."""
    error = own - expected
    return Norms(expected.norm(dim=1), error.norm(dim=1)), magnitude(error)


def magnitude(tensor: torch.Tensor) -> float:
    """Largest magnitude of floating-point elements; infinity where one of them is no number; 0 where there are none."""
    if not tensor.is_floating_point():
        return 0.0
    least, most = (float(end) for end in torch.aminmax(tensor))
    return max(-least, most) if least == least else math.inf
