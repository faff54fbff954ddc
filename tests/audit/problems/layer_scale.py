"""A residual branch behind a layer's scale, which is 1e-6 before training, as in https://arxiv.org/abs/2201.03545."""

import torch
from torch import nn

rows, features = 256, 64


class Model(nn.Module):
    """x plus the scaled answer of two linear layers with a ReLU between."""

    def __init__(self, features: int):
        super().__init__()
        self.up = nn.Linear(features, 2 * features)
        self.down = nn.Linear(2 * features, features)
        self.scale = nn.Parameter(1e-6 * torch.ones(features))

    @torch.compiler.disable
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.scale * self.down(torch.relu(self.up(x)))


def get_inputs():
    return [torch.randn(rows, features)]


def get_init_inputs():
    return [features]
