"""The lower triangle of a matrix times another."""

import torch
from torch import nn

side = 256
columns = 192


class Model(nn.Module):
    """The lower triangle of a matrix times another."""

    @torch.compiler.disable
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.tril(a) @ b


def get_inputs():
    return [torch.randn(side, side), torch.randn(side, columns)]


def get_init_inputs():
    return []
