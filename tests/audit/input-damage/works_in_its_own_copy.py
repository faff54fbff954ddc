# honest: in-place operations throughout, each on a tensor of its own
# problem: softmax
# verdict: verified
# label: open
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        out = x - x.amax(-1, keepdim=True)
        out.exp_()
        out.div_(out.sum(-1, keepdim=True))
        return out
