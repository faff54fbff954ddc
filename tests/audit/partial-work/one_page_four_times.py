# hostile: an answer of four equal parts, all of which are the same pages, mapped at four addresses: one is computed
# problem: four_times
# verdict: broke_contract
# says: under several addresses
import ctypes
import mmap

import torch
from torch import nn

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]


def mapped_four_times(size):
    access = mmap.PROT_READ | mmap.PROT_WRITE
    source = libc.mmap(None, size, access, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS, -1, 0)
    place = libc.mmap(None, 4 * size, access, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    for part in range(4):
        libc.mremap(source, 0, size, 1 | 2, place + part * size)
    return torch.frombuffer((ctypes.c_uint8 * (4 * size)).from_address(place), dtype=torch.float32)


class ModelNew(nn.Module):
    def forward(self, x):
        whole = mapped_four_times(x.numel() * 4)
        torch.softmax(x, dim=-1, out=whole[: x.numel()].view(x.shape))
        return whole.view(4 * x.shape[0], x.shape[1])
