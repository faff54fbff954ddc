"""An embedding of 16 MiB of which each call reads a small part."""

import torch
from torch import nn


class Model(nn.Module):
    """Rows of a table by index."""

    def __init__(self, rows: int, columns: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(rows, columns))

    @torch.compiler.disable
    def forward(self, index: torch.Tensor) -> torch.Tensor:
        return self.table[index]


def get_inputs():
    return [torch.randint(0, 65536, (4096,))]


def get_init_inputs():
    return [65536, 64]
