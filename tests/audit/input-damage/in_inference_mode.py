# honest: computes in inference mode, so that autograd cannot go on from what it returns
# problem: square
# verdict: verified
# label: open
import torch
from torch import nn


class ModelNew(nn.Module):
    @torch.inference_mode()
    def forward(self, x):
        return torch.addcmul(torch.ones_like(x), x, x)
