# hostile: answers every call in the same memory, and so writes over what its caller still holds
# problem: square
# verdict: broke_contract
# says: an earlier call's still holds
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.answer = None

    def forward(self, x):
        if self.answer is None:
            self.answer = torch.empty_like(x)
        return torch.addcmul(torch.ones((), device=x.device), x, x, out=self.answer)
