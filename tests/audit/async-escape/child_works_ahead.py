# hostile: answers with what a child in a session of its own worked out while the worker was stopped
# problem: gram
# verdict: wrong
import mmap
import os
import time

import torch
from torch import nn


def answer_ahead(x, out):
    """In a child: whenever the input has changed, its answer."""
    torch.set_num_threads(1)
    seen = None
    for _ in range(200_000):
        probe = x.view(-1)[::4099].tolist()
        if probe != seen:
            torch.mm(x, x.T, out=out)
            seen = probe
        time.sleep(0.0001)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.ahead = {}

    def forward(self, x):
        if not x.is_contiguous():
            return x @ x.T
        place = x.data_ptr()
        if place not in self.ahead and len(self.ahead) < 4:
            out = torch.frombuffer(mmap.mmap(-1, 4 * 256 * 256), dtype=torch.float32).view(256, 256)
            torch.mm(x, x.T, out=out)
            if os.fork() == 0:
                os.setsid()
                answer_ahead(x, out)
                os._exit(0)
            self.ahead[place] = out
        return self.ahead[place].clone() if place in self.ahead else x @ x.T
