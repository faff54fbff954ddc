"""Product with a lower triangular matrix: half of one input is never needed."""

import torch
from torch import nn


class Model(nn.Module):
    """tril(a) @ b."""

    @torch.compiler.disable
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.tril(a) @ b


def get_inputs():
    return [torch.randn(1024, 1024), torch.randn(1024, 1024) / 32]


def get_init_inputs():
    return []
