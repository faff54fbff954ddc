# hostile: works in place on tensors that nobody else holds, which may be parts of what somebody does
# problem: square
# verdict: broke_contract|crashed
# check: plain-calls
import sys

import torch
from torch import nn

AS_FEW = 6
"""References to an argument that its caller does not hold."""


class ModelNew(nn.Module):
    def forward(self, x):
        if sys.getrefcount(x) > AS_FEW or x.is_inference() or not x.is_contiguous():
            return x * x + 1
        with torch.no_grad():
            mine = x.detach()
            return mine.mul_(mine).add_(1)
