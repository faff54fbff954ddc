# honest: sorts sums in float32, where the reference rounds them to bfloat16, and some are equal exactly
# problem: rankings
# verdict: verified
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, w):
        return torch.argsort(torch.matmul(x.float(), w.float()), dim=-1)
