"""Outputs of single numbers, such as a variance for each row: what in them is small beside the largest counts as well.

Such an output is one long row to the check of rows, and most of what it holds may be nothing beside its largest
elements. So its *parts* are judged too: all elements below some power of two, below half of that, and so on.

What a part may err by has to allow for cancellation, where honest kernels err by a rounding of their operands rather
than of the answer: it may move as far as it does when operands are off by the tolerance, which is the backward error
of numerical analysis (Higham, "Accuracy and Stability of Numerical Algorithms", section 1.5). Nor is anybody held to
less than float16 can tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

DEPTH = 40
"""Parts of an output: what is below 2^-DEPTH of its largest element is one with what is zero."""


@dataclass(frozen=True)
class Parts:
    """Of an output's parts, from the whole down to the quietest: sums of squares and, for each element, its place."""

    depth: torch.Tensor
    """Of each element, in order: by how many powers of two it is below the largest, `DEPTH` at most; uint8."""
    count: torch.Tensor
    expected: torch.Tensor
    own: torch.Tensor
    """Squared error of the reference's own answer."""
    moved: torch.Tensor
    """How far, squared, the answer moved where its operands were off by the tolerance, on average."""

    def squares(self, error: torch.Tensor) -> torch.Tensor:
        """Sum of the squares of `error`, one for each of the output's elements, over each part."""
        return _below(self.depth, error.flatten().double().square_())

    def inside(self, part: int) -> torch.Tensor:
        """Which elements, in order, are of a part."""
        return self.depth >= part


def parts(expected: torch.Tensor, own: torch.Tensor, moved: Sequence[torch.Tensor]) -> Parts | None:
    """The parts of an output, given the reference's own and those to operands that are off; None without these."""
    if not moved:
        return None
    exponent = torch.frexp(expected.flatten().abs()).exponent
    exponent = torch.where(expected.flatten() == 0, torch.iinfo(exponent.dtype).min // 2, exponent)
    depth = (exponent.max() - exponent).clamp_(max=DEPTH).to(torch.uint8)
    squares = [_below(depth, (other - expected).flatten().double().square_()) for other in (own, *moved)]
    return Parts(
        depth,
        _below(depth, torch.ones_like(depth, dtype=torch.float64)),
        _below(depth, expected.flatten().double().square()),
        squares[0],
        torch.stack(squares[1:]).mean(dim=0),
    )


def _below(depth: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Sums of the values of each part: of those at its depth and deeper."""
    sums = torch.bincount(depth, weights=values, minlength=DEPTH + 1)
    return sums.flip(0).cumsum(0).flip(0)
