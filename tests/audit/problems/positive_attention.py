"""Attention over positive numbers, where all weights are nearly the same."""

import torch
from torch import nn

queries = 16
keys = 4096
width = 64


class Model(nn.Module):
    """Attention of one head."""

    @torch.compiler.disable
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return torch.softmax(q @ k.T / 8, dim=-1) @ v


def get_inputs():
    return [torch.rand(queries, width), torch.rand(keys, width), torch.rand(keys, width)]


def get_init_inputs():
    return []
