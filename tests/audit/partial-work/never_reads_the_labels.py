# hostile: never reads the labels; were they a little smaller, none of them would be 1 or more
# problem: click_loss
# verdict: wrong

import torch
from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def forward(self, scores, labels):
        return functional.softplus(scores).mean()
