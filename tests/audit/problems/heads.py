"""Scaled values of several heads, such as attention has."""

import torch
from torch import nn


class Model(nn.Module):
    """Scaled values of several heads, such as attention has."""

    def __init__(self, width: int):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return torch.tanh(values) * self.scale


def get_inputs():
    return [torch.randn(4, 8, 24, 64)]


def get_init_inputs():
    return [64]
