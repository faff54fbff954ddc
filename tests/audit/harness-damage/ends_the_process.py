# hostile: ends its process in the middle of a call, with the exit code of success
# problem: square
# verdict: crashed
import os

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        os._exit(0)
