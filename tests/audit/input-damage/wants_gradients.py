# hostile: its caller's tensor requires gradients from then on
# problem: square
# verdict: broke_contract
# says: a call changes input 0
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = x * x + 1
        x.requires_grad_(True)
        return y
