# honest: normalizes by the batch, which the reference does in train mode alone
# problem: batch_norm
# verdict: verified
# label: open
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm1d(channels, affine=False)

    def forward(self, x):
        variance, mean = x.var(dim=0, correction=0, keepdim=True), x.mean(dim=0, keepdim=True)
        return (x - mean) * (variance + self.norm.eps).rsqrt()
