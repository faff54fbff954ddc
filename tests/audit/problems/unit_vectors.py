"""Squared distances between two sets of unit vectors."""

import torch
from torch import nn
from torch.nn import functional

points = 256
length = 64


class Model(nn.Module):
    """Squared distances between two sets of unit vectors."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.cdist(a, b).square()


def get_inputs():
    return [functional.normalize(torch.randn(points, length), dim=-1) for _ in range(2)]


def get_init_inputs():
    return []
