"""Softmax over rows so long that no draw has an output that is not small beside one hundredth."""

import torch
from torch import nn

rows = 8
columns = 65536


class Model(nn.Module):
    """Softmax over rows so long that no draw has an output that is not small beside one hundredth."""

    @torch.compiler.disable
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=-1)


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
