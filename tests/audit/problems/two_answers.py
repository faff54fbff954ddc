"""Each element squared, plus one, and the upper rows of that once more."""

import torch
from torch import nn

rows = 65
columns = 1024


class Model(nn.Module):
    """Two answers in memory of their own."""

    @torch.compiler.disable
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x * x + 1
        return y, y[:-1].clone()


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
