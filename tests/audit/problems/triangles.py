"""The product of two upper triangular matrices, which is one too."""

import torch
from torch import nn

side = 256


class Model(nn.Module):
    """The product of two upper triangular matrices, which is one too."""

    @torch.compiler.disable
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.triu(a @ b)


def get_inputs():
    return [torch.triu(torch.rand(side, side)), torch.triu(torch.rand(side, side))]


def get_init_inputs():
    return []
