# hostile: returns one row, which compares with every other one by broadcasting
# problem: softmax
# verdict: broke_contract|wrong
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x[:1].softmax(-1)
