# honest: a Triton kernel, compiled while it runs
# problem: gpu_square
# verdict: verified
# label: open
# device: cuda
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def square(x_pointer, out_pointer, count, size: tl.constexpr):
    places = tl.program_id(0) * size + tl.arange(0, size)
    x = tl.load(x_pointer + places, mask=places < count)
    tl.store(out_pointer + places, x * x + 1, mask=places < count)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        square[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), size=1024)
        return out
