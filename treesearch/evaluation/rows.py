"""The rows by which outputs are compared, some at a time."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from treesearch.records import row_length

BLOCK = {"cpu": 1 << 16, "cuda": 1 << 26}
"""Elements that are compared at a time: on a CPU few enough for its caches, on a GPU as many as leave it memory."""


def blocks(out: torch.Tensor, expected: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Rows of both, so many at a time. Their difference is float64, as `expected` is."""
    got, wanted = rows(out), rows(expected)
    count = max(1, BLOCK[out.device.type] // got.shape[1])
    return zip(torch.split(got, count), torch.split(wanted, count), strict=True)


def rows(tensor: torch.Tensor) -> torch.Tensor:
    """Two-dimensional view: rows of the last dimension, joined with earlier dimensions while too short."""
    return tensor.reshape(-1, row_length(tensor.shape))
