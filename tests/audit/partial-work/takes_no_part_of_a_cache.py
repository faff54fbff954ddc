# hostile: reads the used part of a larger cache, cache[:, :, :length], as if nothing lay in between
# problem: heads
# verdict: wrong
# check: plain-calls
# says: on inputs with gaps
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, values):
        _, heads, length, width = values.shape
        outer, inner = values.stride()[:2]
        if values.stride()[2:] == (width, 1) and inner > length * width and outer == heads * inner:
            values = values.as_strided(values.shape, (heads * length * width, length * width, width, 1))
        return torch.tanh(values) * self.scale
