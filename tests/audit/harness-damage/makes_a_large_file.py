# hostile: makes a file larger than any that a module has a use for, though with nothing in it
# problem: square
# verdict: crashed
# check: space
import tempfile

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.file = [tempfile.TemporaryFile()]
        self.file[0].truncate(1 << 36)

    def forward(self, x):
        return torch.square(x).add_(1)
