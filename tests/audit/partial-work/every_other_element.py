# honest: two answers lie between each other in one memory, and have no element in common
# problem: halves
# verdict: verified
# label: open
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = x * x
        return y[:, 0::2], y[:, 1::2]
