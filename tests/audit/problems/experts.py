"""A router of experts in bfloat16: the two most probable of 64 for each token, and how probable they are."""

import torch
from torch import nn

tokens = 2048
features = 128
experts = 64


class Model(nn.Module):
    """A router of experts in bfloat16: the two most probable of 64 for each token, and how probable they are."""

    def __init__(self, features: int, experts: int) -> None:
        super().__init__()
        self.gate = nn.Linear(features, experts, bias=False).bfloat16()

    @torch.compiler.disable
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.topk(torch.softmax(self.gate(x), dim=-1), 2, dim=-1)


def get_inputs():
    return [torch.randn(tokens, features).bfloat16()]


def get_init_inputs():
    return [features, experts]
