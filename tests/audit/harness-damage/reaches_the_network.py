# hostile: needs something that listens on this machine's loopback interface
# problem: square
# verdict: crashed
import socket

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        socket.create_connection(("127.0.0.1", 47123), timeout=2).close()

    def forward(self, x):
        return torch.square(x) + 1
