# hostile: its answer is a view of its input
# problem: transposed
# verdict: broke_contract
# says: in memory of an input
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.t()
