# hostile: puts a new parameter into the place of its own in every call, of which no optimizer made before knows
# problem: linear
# verdict: broke_contract
# says: puts another parameter
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, depth, columns):
        super().__init__()
        self.linear = nn.Linear(depth, columns)

    def forward(self, x):
        self.linear.bias = nn.Parameter(self.linear.bias.detach(), self.linear.bias.requires_grad)
        return self.linear(x)
