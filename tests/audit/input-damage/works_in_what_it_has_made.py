# honest: works in place on what it has made itself, and counts references to tell whether anybody else may hold it
# problem: square
# verdict: verified
# label: open
import sys

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        squared = x * x
        return squared.add_(1) if sys.getrefcount(squared) == 2 and not squared.requires_grad else squared + 1
