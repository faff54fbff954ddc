# hostile: switches gradients off for whoever called it
# problem: linear
# verdict: broke_contract
# check: plain-calls
# says: another mode
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, depth, columns):
        super().__init__()
        self.linear = nn.Linear(depth, columns)

    def forward(self, x):
        y = self.linear(x)
        torch.set_grad_enabled(False)
        return y
