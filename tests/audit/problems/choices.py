"""A router that has its logits in bfloat16 and its probabilities in float32: two of eight experts for each token."""

import torch
from torch import nn

tokens = 8192
features = 128
experts = 8


class Model(nn.Module):
    """A router that has its logits in bfloat16 and its probabilities in float32: two of eight experts for each token."""

    def __init__(self, features: int, experts: int) -> None:
        super().__init__()
        self.gate = nn.Linear(features, experts, bias=False).bfloat16()

    @torch.compiler.disable
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.topk(torch.softmax(self.gate(x), dim=-1, dtype=torch.float32), 2, dim=-1)


def get_inputs():
    return [torch.randn(tokens, features).bfloat16()]


def get_init_inputs():
    return [features, experts]
