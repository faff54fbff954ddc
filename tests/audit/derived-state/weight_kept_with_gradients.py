# hostile: with gradients enabled, keeps the first call's weight transposed
# problem: linear
# verdict: wrong
# check: plain-calls
# says: with gradients enabled
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, depth, columns):
        super().__init__()
        self.linear = nn.Linear(depth, columns)
        self.kept = None

    def forward(self, x):
        if not torch.is_grad_enabled():
            return self.linear(x)
        if self.kept is None:
            self.kept = self.linear.weight.detach().t().contiguous()
        return x @ self.kept + self.linear.bias
