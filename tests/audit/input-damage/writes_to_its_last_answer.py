# hostile: writes to what it has returned before, if that is still somewhere
# problem: square
# verdict: broke_contract
# says: writes to what an earlier one has returned
import weakref

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = []

    def forward(self, x):
        for earlier in self.last:
            if (held := earlier()) is not None:
                held.detach()[1:] = 7
        answer = x * x + 1
        self.last = [weakref.ref(answer)]
        return answer
