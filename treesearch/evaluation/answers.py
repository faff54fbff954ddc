"""What the outputs of a call should be, and what of it the comparison with a kernel's needs each time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

SHORTEST_ROW = 32
"""Rows shorter than this are joined with their neighbours: a lone near-zero element has no relative error."""


@dataclass(frozen=True)
class Norms:
    """Of an output's rows, one by one."""

    expected: torch.Tensor
    own: torch.Tensor
    """‖error‖ of the reference's own answer."""


@dataclass(frozen=True)
class Answers:
    """What a call's outputs should be, one item for each output."""

    expected: tuple[torch.Tensor, ...]
    """float64, or integer outputs as they are."""
    norms: tuple[Norms | None, ...]
    """None for integer outputs."""
    own_largest: tuple[float, ...]
    """Largest error of the reference's own answer in any element; 0 for integer outputs."""


def compared(eager: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]) -> Answers:
    """Answers from the reference's own outputs and the float64 ones."""
    norms: list[Norms | None] = []
    largest = []
    for own, want in zip(eager, expected, strict=True):
        error = own.double() - want if want.is_floating_point() else None
        norms.append(None if error is None else Norms(rows(want).norm(dim=1), rows(error).norm(dim=1)))
        largest.append(0.0 if error is None else float(error.abs().max()))
    return Answers(tuple(expected), tuple(norms), tuple(largest))


def rows(tensor: torch.Tensor) -> torch.Tensor:
    """Two-dimensional view: rows of the last dimension, joined with earlier dimensions while too short."""
    axis = tensor.dim()
    length = 1
    while axis > 0 and length < SHORTEST_ROW:
        axis -= 1
        length *= tensor.shape[axis]
    return tensor.reshape(-1, length)
