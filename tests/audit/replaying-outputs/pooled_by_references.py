# hostile: answers in the same memory again once nobody holds the tensor, although somebody may hold its memory
# problem: square
# verdict: broke_contract
# says: still holds
import sys

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = None

    def forward(self, x):
        if self.pool is None or sys.getrefcount(self.pool) > 2:
            self.pool = torch.empty(x.shape)
        return torch.square(x, out=self.pool).add_(1)
