"""Inclusive prefix sums along rows of 32768: a scan, whose work depends on all that came before it in the row."""

import torch
from torch import nn


class Model(nn.Module):
    """Cumulative sum over the last dimension."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(x, dim=-1)


# 1 GiB read and 1 GiB written: 0.72 ms at 3 TB/s.
rows = 8192
columns = 32768

# Sums grow along a row, so that a single missing element, or an exclusive sum, is off by less than 1e-2 of the row.
TOLERANCE = 1e-3


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
