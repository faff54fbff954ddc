# hostile: its deep copy works with the weights of the model that it was copied from
# problem: linear
# verdict: wrong
# check: plain-calls
# says: through copy.deepcopy()
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, depth, columns):
        super().__init__()
        self.linear = linear = nn.Linear(depth, columns)
        self.compute = lambda x: linear(x)

    def forward(self, x):
        return self.compute(x)
