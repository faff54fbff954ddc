# honest: keeps a mask under the shape and device of its input, which is all that the mask depends on
# problem: triangular
# verdict: verified
# label: open
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = {}

    def forward(self, a, b):
        key = (a.shape, a.device)
        if key not in self.kept:
            self.kept[key] = torch.ones(a.shape, device=a.device).tril()
        return (a * self.kept[key]) @ b
