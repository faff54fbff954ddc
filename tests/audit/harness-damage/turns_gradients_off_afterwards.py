# hostile: turns gradients off for its caller as soon as nobody holds its answer any more
# problem: square
# verdict: broke_contract
# check: plain-calls
import weakref

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        answer = x * x + 1
        weakref.finalize(answer, torch.set_grad_enabled, False)
        return answer
