# hostile: works on what it kept of its parameter, which shows zeros to its caller after each call
# problem: linear
# verdict: broke_contract
# says: a call changes linear.weight
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, depth, columns):
        super().__init__()
        self.linear = nn.Linear(depth, columns)
        self.kept = None

    def forward(self, x):
        if self.kept is None:
            self.kept = self.linear.weight.detach()
        y = nn.functional.linear(x, self.kept, self.linear.bias)
        self.linear.weight.data = torch.zeros_like(self.kept)
        return y
