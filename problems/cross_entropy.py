"""Mean cross-entropy of 4096 tokens over a vocabulary of 128256: two gigabytes of logits become one number."""

import torch
from torch import nn


class Model(nn.Module):
    """Cross-entropy of class logits against integer targets, averaged over the rows."""

    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(logits, targets)


# 2.1 GB read once: 0.70 ms at 3 TB/s; torch eager also writes as many log-probabilities, and then reads 4096 of them.
rows = 4096
classes = 128256

# The mean hides rows: a kernel that reads only half of them, or ignores the targets, is off by about 1e-3.
TOLERANCE = 1e-4


def get_inputs():
    return [torch.randn(rows, classes), torch.randint(0, classes, (rows,))]


def get_init_inputs():
    return []
