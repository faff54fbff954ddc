# hostile: leaves its parameters out of what a user saves and loads
# problem: linear
# verdict: broke_contract
# says: state_dict() does not hold
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, depth, columns):
        super().__init__()
        self.linear = nn.Linear(depth, columns)

    def state_dict(self, *args, **kwargs):
        return {}

    def forward(self, x):
        return self.linear(x)
