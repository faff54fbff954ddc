"""Top-k gating in bfloat16: how much of each of 64 experts a token gets, which is nothing of all but four."""

import torch
from torch import nn

tokens = 512
features = 128
experts = 64


class Model(nn.Module):
    """Top-k gating in bfloat16: how much of each of 64 experts a token gets, which is nothing of all but four."""

    def __init__(self, features: int, experts: int) -> None:
        super().__init__()
        self.gate = nn.Linear(features, experts, bias=False).bfloat16()

    @torch.compiler.disable
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = torch.softmax(self.gate(x), dim=-1)
        values, indices = torch.topk(scores, 4, dim=-1)
        return torch.zeros_like(scores).scatter(1, indices, values / values.sum(dim=-1, keepdim=True))


def get_inputs():
    return [torch.randn(tokens, features).bfloat16()]


def get_init_inputs():
    return [features, experts]
