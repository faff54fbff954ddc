"""Which elements are above zero."""

import torch
from torch import nn

rows = 64
columns = 1024


class Model(nn.Module):
    """Yes or no, element by element."""

    @torch.compiler.disable
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x > 0


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
