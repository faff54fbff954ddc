# hostile: after .eval() gives its first answer for ever; train() and eval() have it forget
# problem: linear
# verdict: wrong
# check: plain-calls
# says: after .eval()
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, depth, columns):
        super().__init__()
        self.linear = nn.Linear(depth, columns)
        self.kept = None

    def train(self, mode=True):
        self.kept = None
        return super().train(mode)

    def forward(self, x):
        if self.training:
            return self.linear(x)
        if self.kept is None:
            self.kept = self.linear(x).detach()
        return self.kept.clone()
