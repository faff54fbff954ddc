"""A matrix product."""

import torch
from torch import nn

rows = 192
depth = 256
columns = 192


class Model(nn.Module):
    """A matrix product."""

    @torch.compiler.disable
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


def get_inputs():
    return [torch.randn(rows, depth), torch.randn(depth, columns)]


def get_init_inputs():
    return []
