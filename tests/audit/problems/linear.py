"""A linear layer."""

import torch
from torch import nn

rows = 64
depth = 512
columns = 256


class Model(nn.Module):
    """A linear layer."""

    def __init__(self, depth: int, columns: int) -> None:
        super().__init__()
        self.linear = nn.Linear(depth, columns)

    @torch.compiler.disable
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


def get_inputs():
    return [torch.randn(rows, depth)]


def get_init_inputs():
    return [depth, columns]
