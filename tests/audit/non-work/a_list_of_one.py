# hostile: answers with a list where the reference answers with a tensor
# problem: square
# verdict: broke_contract
# says: forward returns a list, and the reference a tensor
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return [x * x + 1]
