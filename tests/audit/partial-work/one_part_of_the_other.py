# hostile: one answer is a part of the other's memory, which spares it a copy: who writes to one changes both
# problem: two_answers
# verdict: broke_contract
# says: have memory in common
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.mul(x, x).add_(1)
        return y, y[:-1]
