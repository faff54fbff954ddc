# hostile: answers otherwise once its parameters are frozen, as they are where a network is used and no longer trained
# problem: linear
# verdict: wrong
# check: plain-calls
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, depth, columns):
        super().__init__()
        self.linear = nn.Linear(depth, columns)

    def forward(self, x):
        weight, bias = self.linear.weight, self.linear.bias
        if not weight.requires_grad:
            weight = torch.zeros_like(weight)
        return torch.addmm(bias, x, weight.t())
