"""What the outputs of a call should be, and what of it the comparison with a kernel's needs each time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from treesearch.evaluation.threads import single_threaded

SHORTEST_ROW = 32
"""Rows shorter than this are joined with their neighbours: a lone near-zero element has no relative error."""
BLOCK = {"cpu": 1 << 16, "cuda": 1 << 26}
"""Elements that are compared at a time: on a CPU few enough for its caches, on a GPU as many as leave it memory."""


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
        if not want.is_floating_point():
            norms.append(None)
            largest.append(0.0)
            continue
        with single_threaded():
            seen = [_seen(got, wanted) for got, wanted in blocks(own, want)]
        norms.append(Norms(torch.cat([one.expected for one, _ in seen]), torch.cat([one.own for one, _ in seen])))
        largest.append(max(most for _, most in seen))
    return Answers(tuple(expected), tuple(norms), tuple(largest))


def _seen(own: torch.Tensor, expected: torch.Tensor) -> tuple[Norms, float]:
    """Of some rows: their norms, and the largest error in them."""
    error = own - expected
    return Norms(expected.norm(dim=1), error.norm(dim=1)), magnitude(error)


def magnitude(tensor: torch.Tensor) -> float:
    """Largest magnitude of floating-point elements; infinity where one of them is no number."""
    least, most = (float(end) for end in torch.aminmax(tensor))
    return max(-least, most) if least == least else math.inf


def blocks(out: torch.Tensor, expected: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Rows of both, so many at a time. Their difference is float64, as `expected` is."""
    got, wanted = rows(out), rows(expected)
    count = max(1, BLOCK[out.device.type] // got.shape[1])
    return zip(torch.split(got, count), torch.split(wanted, count), strict=True)


def rows(tensor: torch.Tensor) -> torch.Tensor:
    """Two-dimensional view: rows of the last dimension, joined with earlier dimensions while too short."""
    axis = tensor.dim()
    length = 1
    while axis > 0 and length < SHORTEST_ROW:
        axis -= 1
        length *= tensor.shape[axis]
    return tensor.reshape(-1, length)
