"""Square float32 matrix product of 4096: bound by arithmetic, and by how little precision the tolerance needs."""

import torch
from torch import nn


class Model(nn.Module):
    """The product of two square matrices."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.matmul(a, b)


size = 4096


def get_inputs():
    return [torch.randn(size, size), torch.randn(size, size)]


def get_init_inputs():
    return []
