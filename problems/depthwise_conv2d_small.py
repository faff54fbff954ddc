"""Depthwise 3×3 convolution with bias: nine multiply-adds per element, bound by how well rows are reused."""

import torch
from torch import nn


class Model(nn.Module):
    """A convolution in which every channel has its own filter."""

    def __init__(self, channels: int, kernel_size: int, padding: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, kernel_size, padding=padding, groups=channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


batch = 8
channels = 64
height = 96
width = 96


def get_inputs():
    return [torch.randn(batch, channels, height, width)]


def get_init_inputs():
    return [channels, 3, 1]
