# honest: registers constants of its own as buffers, and converts nothing that could change
# problem: layer_norm
# verdict: verified
# label: open
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.norm = nn.LayerNorm(columns)
        self.register_buffer("average", torch.full((columns, 1), 1 / columns))
        self.register_buffer("epsilon", torch.tensor(1e-5))

    def forward(self, x):
        centred = x - x @ self.average
        scale = torch.rsqrt(centred.square() @ self.average + self.epsilon)
        return centred * scale * self.norm.weight + self.norm.bias
