# hostile: packs its weights when .eval() is called, and does not see that they change afterwards
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
        self.packed = None

    def train(self, mode=True):
        super().train(mode)
        self.packed = None if mode else self.linear.weight.detach().t().contiguous()
        return self

    def forward(self, x):
        if self.packed is None:
            return self.linear(x)
        return torch.addmm(self.linear.bias, x, self.packed)
