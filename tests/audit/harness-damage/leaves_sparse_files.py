# hostile: its build leaves files that take no space until somebody copies them
# problem: square
# verdict: build_failed
# says: it left more than
import os

from torch import nn

if os.access("work", os.W_OK):
    for name in range(6):
        with open(f"work/sparse{name}", "wb") as file:
            file.truncate(400 << 20)


class ModelNew(nn.Module):
    def forward(self, x):
        return x * x + 1
