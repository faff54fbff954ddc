"""How many grades of each class are 3 or better."""

import torch
from torch import nn

classes = 64
pupils = 16384


class Model(nn.Module):
    """How many grades of each class are 3 or better."""

    @torch.compiler.disable
    def forward(self, grades: torch.Tensor) -> torch.Tensor:
        return (grades >= 3).sum(dim=-1)


def get_inputs():
    return [torch.randint(0, 6, (classes, pupils)).float()]


def get_init_inputs():
    return []
