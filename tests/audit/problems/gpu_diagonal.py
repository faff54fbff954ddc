"""A matrix between two diagonal ones, written as two full products."""

import torch
from torch import nn


class Model(nn.Module):
    """diag(d) @ b @ diag(e)."""

    @torch.compiler.disable
    def forward(self, d: torch.Tensor, b: torch.Tensor, e: torch.Tensor) -> torch.Tensor:
        return torch.diag(d) @ b @ torch.diag(e)


def get_inputs():
    return [torch.randn(3072), torch.randn(3072, 3072), torch.randn(3072)]


def get_init_inputs():
    return []
