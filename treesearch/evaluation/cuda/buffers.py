"""Device memory that the worker and the baselines map through file descriptors: one copy serves all three."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import torch

from treesearch.errors import MachineError
from treesearch.evaluation.buffers import GUARD, SharedTensor
from treesearch.evaluation.cuda.driver import CudaError, Driver


@cache
def driver() -> Driver:
    """The driver, with the context current that torch uses as well."""
    torch.cuda.synchronize()  # initializes torch, and with it the context
    made = Driver()
    made.use_device(0)
    return made


class DeviceTensor(SharedTensor):
    """A tensor in device memory of its own (cuMemCreate), exported as a file descriptor."""

    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype, *, writable: bool) -> None:
        super().__init__(shape, dtype, writable=writable)
        grain = driver().granularity()
        self._length = -(-(2 * GUARD + self.nbytes) // grain) * grain
        try:
            self._memory = driver().create(self._length)
            self.descriptor = driver().export(self._memory)
            self._address = driver().map(self._memory, self._length)
        except CudaError as error:
            raise MachineError(f"The GPU does not give a buffer of {self.nbytes >> 20} MiB: {error}.") from error
        self._place(over(self._address, self._length))

    def close(self) -> None:
        super().close()
        torch.cuda.synchronize()
        driver().unmap(self._address, self._length, self._memory)


def over(address: int, length: int, owner: object = None) -> torch.Tensor:
    """A tensor of bytes over mapped device memory, which stays as it is, and whose `owner` stays as long."""
    return torch.as_tensor(_Array(address, length, owner), device="cuda")


def map_tensor(buffer: dict[str, Any], shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """In a child with torch: a tensor over a described buffer."""
    memory = driver().take(buffer["descriptor"])
    os.close(buffer["descriptor"])
    data = over(driver().map(memory, buffer["length"], writable=buffer["writable"]), buffer["length"])
    nbytes = torch.empty(shape, dtype=dtype, device="meta").nbytes
    return data[buffer["offset"] : buffer["offset"] + nbytes].view(dtype).view(shape)


class _Array:
    """Device memory in the form that libraries exchange it."""

    def __init__(self, address: int, length: int, owner: object) -> None:
        self.owner = owner
        self.__cuda_array_interface__ = {
            "shape": (length,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
            "strides": None,
        }
