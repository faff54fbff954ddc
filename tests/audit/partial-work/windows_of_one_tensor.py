# hostile: answers with a view whose windows overlap in memory, a sixteenth of what there is to write
# problem: windows
# verdict: broke_contract
# says: share memory
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.square(x).unfold(1, 16, 1)
