"""The head of a language model in bfloat16: probabilities of the next token, and the four most probable ones."""

import torch
from torch import nn

batch = 16
features = 32
tokens = 65536


class Model(nn.Module):
    """The head of a language model in bfloat16: probabilities of the next token, and the four most probable ones."""

    def __init__(self, features: int, tokens: int) -> None:
        super().__init__()
        self.head = nn.Linear(features, tokens, bias=False).bfloat16()

    @torch.compiler.disable
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        probabilities = torch.softmax(self.head(x), dim=-1)
        return probabilities, torch.topk(probabilities, 4, dim=-1).indices


def get_inputs():
    return [torch.randn(batch, features).bfloat16()]


def get_init_inputs():
    return [features, tokens]
