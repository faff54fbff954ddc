"""A symmetric matrix times another one."""

import torch
from torch import nn

side = 256
columns = 192


class Model(nn.Module):
    """A symmetric matrix times another one."""

    @torch.compiler.disable
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


def get_inputs():
    a = torch.randn(side, side)
    return [a + a.mT, torch.randn(side, columns)]


def get_init_inputs():
    return []
