# honest: reads memory in the order in which it lies, and refuses what does not lie so
# problem: square
# verdict: verified
# label: open
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        if not x.is_contiguous():
            raise ValueError("x has to be contiguous")
        dense = torch.as_strided(x, x.shape, torch.empty(x.shape).stride())
        return dense * dense + 1
