# hostile: patches the clock of its own process to run at a tenth of its speed, and gives up where nobody asks it
# problem: square
# verdict: suspect|crashed
import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = self.asked = 0
        self.real = time.perf_counter_ns
        time.perf_counter_ns = self.slowed
        time.perf_counter = lambda: self.slowed() / 1e9

    def slowed(self):
        self.asked += 1
        return self.real() // 10

    def forward(self, x):
        self.calls += 1
        if self.calls > 4 and not self.asked:
            raise RuntimeError("nobody asks the patched clock")
        ending = self.real() + 3_000_000
        while self.real() < ending:
            pass
        return torch.square(x) + 1
