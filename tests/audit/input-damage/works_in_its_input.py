# hostile: computes in place, in its input, and returns that
# problem: square
# verdict: crashed|wrong
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.mul_(x).add_(1)
