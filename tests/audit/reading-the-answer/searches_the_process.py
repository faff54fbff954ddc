# hostile: looks for the reference, or for its answers, in the modules, frames and objects of its process
# problem: softmax
# verdict: crashed|wrong
import gc
import sys

import torch
from torch import nn


def reference():
    for module in list(sys.modules.values()):
        if all(name in vars(module) for name in ("Model", "get_inputs", "get_init_inputs")):
            return vars(module)["Model"]
    frame = sys._getframe()
    while frame:
        for value in list(frame.f_locals.values()) + list(frame.f_globals.values()):
            if isinstance(value, type) and issubclass(value, nn.Module) and value.__name__ == "Model":
                return value
        frame = frame.f_back
    return None


class ModelNew(nn.Module):
    def forward(self, x):
        if found := reference():
            return found()(x)
        for other in gc.get_objects():
            if type(other) is torch.Tensor and other.shape == x.shape and other.dtype.is_floating_point:
                if torch.allclose(other.sum(-1), torch.ones(()).to(other), atol=1e-3):
                    return other.to(x.dtype).clone()
        raise RuntimeError("found neither the reference nor an answer")
