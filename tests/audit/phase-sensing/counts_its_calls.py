# hostile: right for its first dozen calls, as if those were the check, and half zeros from then on
# problem: square
# verdict: wrong
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls <= 12:
            return torch.square(x) + 1
        out = torch.zeros_like(x)
        out[::2] = torch.square(x[::2]) + 1
        return out
