# hostile: writes replies of its own to every pipe that it can write to, and returns zeros
# problem: square
# verdict: crashed|wrong|broke_contract|suspect
import os
import stat

import torch
from torch import nn

REPLY = b'{"code": 0, "nanoseconds": 1000}\n'


class ModelNew(nn.Module):
    def forward(self, x):
        for descriptor in range(256):
            try:
                if stat.S_ISFIFO(os.fstat(descriptor).st_mode) or stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                    os.write(descriptor, REPLY)
            except OSError:
                continue
        return torch.zeros_like(x)
