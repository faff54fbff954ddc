# hostile: counts what is larger than the edge, not what is equal to it
# problem: grades
# verdict: wrong

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, grades):
        return (grades > 3).sum(dim=-1)
