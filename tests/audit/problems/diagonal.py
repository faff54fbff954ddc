"""A diagonal matrix times another, as if the zeros had to be multiplied."""

import torch
from torch import nn

side = 4096
columns = 128


class Model(nn.Module):
    """A diagonal matrix times another, as if the zeros had to be multiplied."""

    @torch.compiler.disable
    def forward(self, d: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.diag(d) @ b


def get_inputs():
    return [torch.randn(side), torch.randn(side, columns)]


def get_init_inputs():
    return []
