"""The lower triangle of a matrix, by a mask that is an input and the same in every draw."""

import torch
from torch import nn

rows = 64


class Model(nn.Module):
    """Elements where the mask allows them, and zeros."""

    @torch.compiler.disable
    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.where(mask, x, 0.0)


def get_inputs():
    return [torch.randn(rows, rows), torch.ones(rows, rows, dtype=torch.bool).tril()]


def get_init_inputs():
    return []
