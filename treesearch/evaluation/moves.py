"""How operands are put off, to see how far that moves an answer and what of it hangs on how float32 rounds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Protocol

import torch

from treesearch.evaluation.stress import jolted, nudged, scaled

MOVES = 3
"""How often operands are put off at random."""
LEFT_OPEN = 2.0**-19
"""By what share operands are put off to see what hangs on how float32 rounds: some of its steps."""
MOST_ALONE = 4
"""Operands each of which is also put off by itself, since what two of them do may cancel."""
FEW_VALUES, FEW_SHARE, LOOKED_AT = 256, 1 / 8, 1 << 16
"""So few values, and such a share of as many numbers of a tensor as are looked at, are values that mean something."""


class Move(Protocol):
    """Puts the numbers of a tensor off, or, with the same generator's state, exactly as far the other way."""

    def __call__(self, tensor: torch.Tensor, generator: torch.Generator, *, opposite: bool = False) -> torch.Tensor: ...


closely: Move = partial(nudged, share=LEFT_OPEN)
MORE = [closely] * 6
"""Where many numbers are nearly equal, and each pair of them is to change its order at least once."""


def by_tolerance(tolerance: float) -> list[Move]:
    """By that share of each number."""
    return [partial(jolted, share=tolerance)] * MOVES


def by_rounding(operands: Sequence[object], *, all_of_them: bool) -> list[Move]:
    """By some of float32's steps: each number at random, all of them one way, and those of one tensor alone.

    A sum errs as if all of its terms were off one way, which those that are drawn by lot seldom are. What holds few
    values, such as labels or grades, is put off only where it is to be `all_of_them`: where one is equal to an edge it
    is, unless the reference itself rounds on the way there, and says so by answers that are not float64's.
    """
    floating = [one for one in operands if isinstance(one, torch.Tensor) and one.is_floating_point()]
    rounded = [one for one in floating if all_of_them or not _few_valued(one)]
    alone: list[Move] = [partial(scaled, share=LEFT_OPEN, only=operand) for operand in rounded[:MOST_ALONE]]
    together: Move = partial(scaled, share=LEFT_OPEN)
    every = [closely] * MOVES + [together] + (alone if len(rounded) > 1 else [])
    return [partial(_of_these, {id(one) for one in rounded}, move) for move in every]


def _of_these(
    those: Collection[int], move: Move, tensor: torch.Tensor, generator: torch.Generator, *, opposite: bool = False
) -> torch.Tensor:
    """A move of some tensors alone, which are known by their identity."""
    return move(tensor, generator, opposite=opposite) if id(tensor) in those else tensor


def _few_valued(tensor: torch.Tensor) -> bool:
    some = tensor.flatten()[:: max(1, tensor.numel() // LOOKED_AT)]
    return len(torch.unique(some)) <= min(FEW_VALUES, FEW_SHARE * some.numel())
