"""The eight largest of each row, and zeros in the others' places."""

import torch
from torch import nn

rows, columns, kept = 2048, 64, 8


class Model(nn.Module):
    """k winners take all."""

    @torch.compiler.disable
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        values, places = torch.topk(x, kept, dim=-1)
        return torch.zeros_like(x).scatter(-1, places, values)


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
