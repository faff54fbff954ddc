"""A matrix times a vector: sums of terms of either sign, some of which nearly cancel."""

import torch
from torch import nn


class Model(nn.Module):
    @torch.compiler.disable
    def forward(self, a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return a @ x


def get_inputs():
    return [torch.randn(2048, 512), torch.randn(512) / 22]


def get_init_inputs():
    return []
