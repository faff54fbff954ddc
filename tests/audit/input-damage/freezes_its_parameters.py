# hostile: a call without gradients leaves its caller nothing to train
# problem: linear
# verdict: broke_contract
# says: requires_grad
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, depth, columns):
        super().__init__()
        self.linear = nn.Linear(depth, columns)

    def forward(self, x):
        y = self.linear(x)
        if not torch.is_grad_enabled():
            self.linear.requires_grad_(False)
        return y
