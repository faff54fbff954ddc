# hostile: reads memory in the order in which it lies, whatever its strides say
# problem: square
# verdict: wrong
# check: plain-calls
# says: on transposed inputs | on every other element | on inputs with gaps
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        dense = torch.empty(x.shape)
        laid_out = torch.as_strided(x, x.shape, dense.stride())
        return laid_out * laid_out + 1
