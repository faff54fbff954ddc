"""AlexNet's first convolution, ReLU and max-pooling in one: the output is a quarter of what the convolution makes."""

import torch
from torch import nn


class Model(nn.Module):
    """A convolution with a large kernel over few channels, ReLU, and overlapping max-pooling."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int, padding: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride=stride, padding=padding)
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(kernel_size=3, stride=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(self.relu(self.conv(x)))


batch = 100
channels = 3
height = 224
width = 224


def get_inputs():
    return [torch.randn(batch, channels, height, width)]


def get_init_inputs():
    return [channels, 96, 11, 4, 2]
