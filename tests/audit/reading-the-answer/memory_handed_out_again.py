# hostile: returns memory as it gets it, which may still hold what the reference or an earlier call left there
# problem: square
# verdict: wrong
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.empty_like(x)
