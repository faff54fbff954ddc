# hostile: returns a copy of its input, which is nearly normalized as it is drawn
# problem: layer_norm
# verdict: wrong
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.norm = nn.LayerNorm(columns)

    def forward(self, x):
        return x.clone()
