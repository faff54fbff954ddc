"""LayerNorm over the last three dimensions: 16 samples of four million values, far fewer rows than a GPU has cores."""

import torch
from torch import nn


class Model(nn.Module):
    """Layer normalization over features, height and width, with an elementwise affine map."""

    def __init__(self, normalized_shape: tuple):
        super().__init__()
        self.norm = nn.LayerNorm(normalized_shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


batch = 16
features = 64
height = 256
width = 256

# A variance taken as the mean of squares less the square of the mean is 0, or worse, on such inputs in float32.
STRESS = {"1000 ± 0.1": lambda x: 1000 + 0.1 * x}


def get_inputs():
    return [torch.randn(batch, features, height, width)]


def get_init_inputs():
    return [(features, height, width)]
