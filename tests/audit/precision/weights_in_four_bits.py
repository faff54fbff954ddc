# hostile: rounds the weights to sixteen levels
# problem: linear
# verdict: wrong
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, depth, columns):
        super().__init__()
        self.linear = nn.Linear(depth, columns)

    def forward(self, x):
        step = self.linear.weight.abs().amax() / 7
        return nn.functional.linear(x, torch.round(self.linear.weight / step) * step, self.linear.bias)
