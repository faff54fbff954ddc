# hostile: its build leaves a pipe where its compiled files are kept, so that whoever copies them waits for ever
# problem: square
# verdict: build_failed
# says: no ordinary file
import os

from torch import nn

if os.access("work", os.W_OK):
    os.mkfifo("work/pipe")


class ModelNew(nn.Module):
    def forward(self, x):
        return x * x + 1
