# hostile: knows itself by its address, and is wrong in a copy
# problem: square
# verdict: wrong
# check: plain-calls
# says: copy.deepcopy
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.original = id(self)

    def forward(self, x):
        return x * x + 1 if id(self) == self.original else x.clone()
