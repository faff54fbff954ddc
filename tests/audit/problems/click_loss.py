"""Logistic loss of scores, with labels of 0 and 1."""

import torch
from torch import nn
from torch.nn import functional

rows = 256
columns = 2048


class Model(nn.Module):
    """Logistic loss of scores, with labels of 0 and 1."""

    @torch.compiler.disable
    def forward(self, scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return functional.softplus(torch.where(labels >= 1, -scores, scores)).mean()


def get_inputs():
    return [torch.randn(rows, columns) + 0.5, torch.randint(0, 2, (rows, columns)).float()]


def get_init_inputs():
    return []
