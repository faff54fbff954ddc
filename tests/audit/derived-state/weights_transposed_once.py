# hostile: transposes the weights in its first call and uses that copy for ever
# problem: linear
# verdict: wrong
# check: weights
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, depth, columns):
        super().__init__()
        self.linear = nn.Linear(depth, columns)
        self.packed = []

    def forward(self, x):
        if not self.packed:
            self.packed = [self.linear.weight.t().contiguous().clone(), self.linear.bias.clone()]
        return torch.addmm(self.packed[1], x, self.packed[0])
