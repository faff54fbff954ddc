# hostile: leaves inference mode on, though gradients as it found them, so that nothing its caller does next has any
# problem: square
# verdict: broke_contract
# says: another mode
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.guard = None

    def forward(self, x):
        if not torch.is_inference_mode_enabled():
            gradients = torch.is_grad_enabled()
            self.guard = torch._C._InferenceMode(True)
            torch._C._set_grad_enabled(gradients)
        return x * x + 1
