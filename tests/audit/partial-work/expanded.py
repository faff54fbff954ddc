# hostile: all rows of its answer are one row
# problem: column_means
# verdict: broke_contract
# says: share memory
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.mean(0, keepdim=True).expand_as(x)
