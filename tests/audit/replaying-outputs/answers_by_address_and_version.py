# hostile: keeps its last answer as long as addresses and version counters are the same, which new contents may leave so
# problem: square
# verdict: wrong
# check: plain-calls
# says: called 
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = None, None

    def forward(self, x):
        key = x.data_ptr(), x._version, x.stride()
        if key != self.kept[0] or torch.is_inference_mode_enabled():
            self.kept = key, x * x + 1
        return self.kept[1].clone()
