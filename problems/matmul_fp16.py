"""Square float16 matrix product of 4096: what vendors' libraries are tuned for, near the tensor cores' peak."""

import torch
from torch import nn


class Model(nn.Module):
    """The product of two square matrices in half precision."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.matmul(a, b)


size = 4096


def get_inputs():
    return [torch.randn(size, size, dtype=torch.float16), torch.randn(size, size, dtype=torch.float16)]


def get_init_inputs():
    return []
