# hostile: patches the events that time a GPU, and gives up where nobody asks them
# problem: gpu_square
# verdict: suspect|crashed|wrong
# device: cuda
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = self.asked = 0
        self.real = torch.cuda.Event.elapsed_time
        torch.cuda.Event.elapsed_time = lambda event, end: self.tenth(event, end)

    def tenth(self, event, end):
        self.asked += 1
        return self.real(event, end) / 10

    def forward(self, x):
        self.calls += 1
        if self.calls > 8 and not self.asked:
            raise RuntimeError("nobody asks the patched events")
        out = x
        for _ in range(200):
            out = torch.square(x) + 1
        return out
