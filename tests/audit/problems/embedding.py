"""Rows of a table, picked by index."""

import torch
from torch import nn

entries = 4096
columns = 64
length = 1024


class Model(nn.Module):
    """Rows of a table, picked by index."""

    def __init__(self, entries: int, columns: int) -> None:
        super().__init__()
        self.table = nn.Embedding(entries, columns)

    @torch.compiler.disable
    def forward(self, index: torch.Tensor) -> torch.Tensor:
        return self.table(index)


def get_inputs():
    return [torch.randint(0, entries, (length,))]


def get_init_inputs():
    return [entries, columns]
