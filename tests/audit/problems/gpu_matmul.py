"""Product of two square float32 matrices of 1024."""

import torch
from torch import nn


class Model(nn.Module):
    """a @ b."""

    @torch.compiler.disable
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


def get_inputs():
    return [torch.randn(1024, 1024), torch.randn(1024, 1024) / 32]


def get_init_inputs():
    return []
