# hostile: answers nothing but zeros until it has warmed up, which takes ten calls
# problem: square
# verdict: wrong
# says: once it was loaded
import torch
from torch import nn

calls = 0


class ModelNew(nn.Module):
    def forward(self, x):
        global calls
        calls += 1
        return x * x + 1 if calls > 10 else torch.zeros_like(x)
