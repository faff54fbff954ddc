"""The upper triangle of a matrix product; what lies below is zero."""

import torch
from torch import nn

rows = 192
depth = 256
columns = 192


class Model(nn.Module):
    """The upper triangle of a matrix product; what lies below is zero."""

    @torch.compiler.disable
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.triu(a @ b)


def get_inputs():
    return [torch.randn(rows, depth), torch.randn(depth, columns)]


def get_init_inputs():
    return []
