# hostile: is right in train mode, in which it is judged, and returns its input after .eval()
# problem: square
# verdict: wrong
# check: plain-calls
# says: after .eval()
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x * x + 1 if self.training else x.clone()
