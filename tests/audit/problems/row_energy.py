"""The energy of each row, of rows that are as loud as a whisper and a storm."""

import torch
from torch import nn


class Model(nn.Module):
    @torch.compiler.disable
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.square().sum(dim=1)


def get_inputs():
    return [torch.randn(4096, 128) * torch.exp(6 * torch.randn(4096, 1))]


def get_init_inputs():
    return []
