# honest: packs its weights once for each version of them, as torch counts changes in place
# problem: linear
# verdict: verified
# label: open
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, depth, columns):
        super().__init__()
        self.linear = nn.Linear(depth, columns)
        self.packed = None
        self.version = None

    def forward(self, x):
        weight = self.linear.weight
        version = weight.data_ptr(), weight._version
        if self.version != version:
            self.packed, self.version = weight.detach().t().contiguous(), version
        return torch.addmm(self.linear.bias, x, self.packed)
