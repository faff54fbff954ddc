# hostile: returns a subclass of a tensor that does its work when somebody looks at it, after the clock has stopped
# problem: square
# verdict: broke_contract|wrong|crashed
import torch
from torch import nn
from torch.utils._pytree import tree_map


class Lazy(torch.Tensor):
    @staticmethod
    def __new__(cls, x):
        return torch.Tensor._make_wrapper_subclass(cls, x.shape, dtype=x.dtype, device=x.device)

    def __init__(self, x):
        self.x = x

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        def settled(value):
            return torch.square(value.x) + 1 if isinstance(value, Lazy) else value

        return function(*tree_map(settled, args), **tree_map(settled, kwargs or {}))

    def contiguous(self, **options):
        return self


class ModelNew(nn.Module):
    def forward(self, x):
        return Lazy(x)
