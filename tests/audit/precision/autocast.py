# honest: multiplies in bfloat16 under autocast, whose error stays inside the tolerance on every draw
# problem: linear
# verdict: verified
# label: open
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, depth, columns):
        super().__init__()
        self.linear = nn.Linear(depth, columns)

    def forward(self, x):
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            return self.linear(x).float()
