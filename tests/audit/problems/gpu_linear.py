"""A linear layer whose parameters are redrawn in every call."""

import torch
from torch import nn


class Model(nn.Module):
    """x @ weightᵀ + bias."""

    def __init__(self, features: int, results: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(results, features) / 32)
        self.bias = nn.Parameter(torch.randn(results))

    @torch.compiler.disable
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.linear(x, self.weight, self.bias)


def get_inputs():
    return [torch.randn(1024, 1024)]


def get_init_inputs():
    return [1024, 512]
