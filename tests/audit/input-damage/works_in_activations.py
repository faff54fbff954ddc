# hostile: works in place on whatever has a history, as the activations of a network that is being trained have
# problem: square
# verdict: crashed
# check: plain-calls
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        if x.is_leaf:
            return x * x + 1
        with torch.no_grad():
            mine = x.detach()
            return mine.mul_(mine).add_(1)
