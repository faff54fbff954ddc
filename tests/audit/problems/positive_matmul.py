"""A product of positive matrices over many terms, which averages come close to."""

import torch
from torch import nn

rows = 16
depth = 32768
columns = 16


class Model(nn.Module):
    """A matrix product."""

    @torch.compiler.disable
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


def get_inputs():
    return [torch.rand(rows, depth), torch.rand(depth, columns)]


def get_init_inputs():
    return []
