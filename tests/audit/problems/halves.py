"""Even and odd elements of squares."""

import torch
from torch import nn

rows = 64
columns = 1024


class Model(nn.Module):
    """Two answers in memory of their own."""

    @torch.compiler.disable
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x * x
        return y[:, 0::2].contiguous(), y[:, 1::2].contiguous()


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
