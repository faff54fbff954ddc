# hostile: leaves another dtype for its caller's next autocast, which it does not enable
# problem: square
# verdict: broke_contract
# check: plain-calls
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        if not torch.is_grad_enabled():
            return x * x + 1
        torch.set_autocast_dtype("cpu", torch.float16)
        return x * x + 1
