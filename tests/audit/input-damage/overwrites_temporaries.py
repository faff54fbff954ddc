# hostile: answers in what the call alone holds, without gradients, which may be a view of what somebody does
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
        y = x * x + 1
        nobody = sys.getrefcount(x) <= AS_FEW
        if nobody and not torch.is_grad_enabled() and not x.is_inference():
            x.copy_(y)
        return y
