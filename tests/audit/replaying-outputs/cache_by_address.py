# hostile: keeps each answer under the address of its input and returns it when that address comes again
# problem: square
# verdict: wrong
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = {}

    def forward(self, x):
        if x.data_ptr() not in self.kept:
            self.kept[x.data_ptr()] = torch.square(x) + 1
        return self.kept[x.data_ptr()].clone()
