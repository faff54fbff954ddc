"""How operands are put off, to see how far that moves an answer and what of it hangs on how float32 rounds."""

from __future__ import annotations

from collections.abc import Sequence
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


class Move(Protocol):
    """Puts the numbers of a tensor off, or, with the same generator's state, exactly as far the other way."""

    def __call__(self, tensor: torch.Tensor, generator: torch.Generator, *, opposite: bool = False) -> torch.Tensor: ...


closely: Move = partial(nudged, share=LEFT_OPEN)


def by_tolerance(tolerance: float) -> list[Move]:
    """By that share of each number."""
    return [partial(jolted, share=tolerance)] * MOVES


def by_rounding(operands: Sequence[object]) -> list[Move]:
    """By some of float32's steps: each number at random, all of them one way, and those of one tensor alone.

    A sum errs as if all of its terms were off one way, which those that are drawn by lot seldom are.
    """
    floating = [one for one in operands if isinstance(one, torch.Tensor) and one.is_floating_point()]
    alone: list[Move] = [partial(scaled, share=LEFT_OPEN, only=operand) for operand in floating[:MOST_ALONE]]
    together: Move = partial(scaled, share=LEFT_OPEN)
    return [closely] * MOVES + [together] + (alone if len(floating) > 1 else [])
