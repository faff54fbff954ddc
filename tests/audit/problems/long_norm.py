"""Rows so long that a normal draw's are all but normalized already."""

import torch
from torch import nn

rows = 4
columns = 262144


class Model(nn.Module):
    """Rows normalized, without weights."""

    @torch.compiler.disable
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.layer_norm(x, (columns,))


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
