# honest: multiplies by a diagonal matrix by scaling rows, without a matrix product
# problem: diagonal
# verdict: verified
# label: open
from torch import nn


class ModelNew(nn.Module):
    def forward(self, d, b):
        return d[:, None] * b
