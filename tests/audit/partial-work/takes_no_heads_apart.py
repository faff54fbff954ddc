# hostile: reads what is transposed as attention has its heads, (batch, length, heads, width), as if it were dense
# problem: heads
# verdict: wrong
# check: plain-calls
# says: on transposed inputs
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, values):
        heads, width = values.shape[1], values.shape[3]
        if values.stride()[1:] == (width, heads * width, 1):
            values = values.as_strided(values.shape, (values.stride(0), values.shape[2] * width, width, 1))
        return torch.tanh(values) * self.scale
