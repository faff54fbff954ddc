# hostile: is right while gradients are disabled, as they are where it is judged
# problem: square
# verdict: wrong
# check: plain-calls
# says: with gradients enabled
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.clone() if torch.is_grad_enabled() else x * x + 1
