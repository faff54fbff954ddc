# hostile: looks at how its first input lies in memory, and takes the second one to lie so as well
# problem: matmul
# verdict: wrong
# check: plain-calls
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        if a.is_contiguous():
            b = b.as_strided(b.shape, (b.shape[1], 1))
        return a @ b
