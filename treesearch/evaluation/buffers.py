"""Tensors in memory that a child process can map, each an allocation of its own between guard bands."""

from __future__ import annotations

import errno
import mmap
import os
from typing import Any, Self

import torch

from treesearch.errors import MachineError
from treesearch.records import Argument, Role, Signature

GUARD = 4096
"""Bytes before and after a tensor that must stay as they were: one page, which also aligns the tensor."""
GUARD_BYTE = 0x5A
PAGE = mmap.PAGESIZE


class SharedTensor:
    """A tensor in anonymous shared memory (memfd). `descriptor` is what a child inherits and maps."""

    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype, *, writable: bool) -> None:
        """`writable`: whether the child may write it; an input's descriptor cannot be mapped for writing."""
        self.nbytes = torch.empty(shape, dtype=dtype, device="meta").nbytes
        self.length = -(-(2 * GUARD + self.nbytes) // PAGE) * PAGE
        self.writable = writable
        own = os.memfd_create("treesearch", os.MFD_CLOEXEC)
        try:
            os.posix_fallocate(own, 0, self.length)
            self._memory = mmap.mmap(own, self.length)
            self.descriptor = os.open(f"/proc/self/fd/{own}", (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.ENOMEM):
                raise MachineError(f"Not enough memory for a buffer of {self.nbytes >> 20} MiB.") from error
            raise
        finally:
            os.close(own)
        self._bytes = torch.frombuffer(self._memory, dtype=torch.uint8)
        self._bytes.fill_(GUARD_BYTE)
        inside = self._bytes[GUARD : GUARD + self.nbytes]
        self.tensor = inside.view(dtype).view(shape)
        self.raw = inside

    @classmethod
    def of(cls, argument: Argument) -> Self:
        return cls(argument.shape, getattr(torch, argument.dtype), writable=argument.role is Role.OUTPUT)

    def poison(self) -> None:
        """Fill with what no kernel would leave: NaN, or the guard byte for types that have none; mend the guards."""
        self._bytes.fill_(GUARD_BYTE)
        if self.tensor.is_floating_point():
            self.raw.fill_(0xFF)

    def guards_intact(self) -> bool:
        before, after = self._bytes[:GUARD], self._bytes[GUARD + self.nbytes :]
        return bool((before == GUARD_BYTE).all()) and bool((after == GUARD_BYTE).all())

    def description(self) -> dict[str, Any]:
        """What a child needs in order to map it."""
        return {
            "descriptor": self.descriptor,
            "length": self.length,
            "offset": GUARD,
            "writable": self.writable,
        }

    def close(self) -> None:
        os.close(self.descriptor)


class BufferSet:
    """One tensor per pointer argument of `launch`, in order."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        pointers = [argument for argument in signature.arguments if argument.role is not Role.SCALAR]
        self.tensors = {argument.name: SharedTensor.of(argument) for argument in pointers}

    @property
    def descriptors(self) -> tuple[int, ...]:
        return tuple(shared.descriptor for shared in self.tensors.values())

    def fill(self, values: dict[str, torch.Tensor]) -> None:
        """Write new contents into the same places, and poison the outputs."""
        for name, value in values.items():
            self.tensors[name].tensor.copy_(value)
        for argument in self.signature.of(Role.OUTPUT):
            self.tensors[argument.name].poison()

    def outputs(self) -> list[torch.Tensor]:
        return [self.tensors[argument.name].tensor for argument in self.signature.of(Role.OUTPUT)]

    def damage(self, values: dict[str, torch.Tensor]) -> str:
        """What was written though it must not be, such as an input with other contents than `values`, or nothing."""
        for name, shared in self.tensors.items():
            if not shared.guards_intact():
                return f"the memory next to {name}"
            if name in values and not torch.equal(as_bytes(shared.tensor), as_bytes(values[name])):
                return f"the input {name}"
        return ""

    def description(self) -> list[dict[str, Any]]:
        return [shared.description() for shared in self.tensors.values()]

    def close(self) -> None:
        for shared in self.tensors.values():
            shared.close()


def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor's memory, so that NaNs compare equal to themselves."""
    return tensor.contiguous().flatten().view(torch.uint8)


def map_tensor(buffer: dict[str, Any], shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """In a child: a tensor over a described buffer, read-only."""
    memory = mmap.mmap(buffer["descriptor"], buffer["length"], mmap.MAP_SHARED, mmap.PROT_READ)
    data = torch.frombuffer(memory, dtype=torch.uint8)
    nbytes = torch.empty(shape, dtype=dtype, device="meta").nbytes
    return data[buffer["offset"] : buffer["offset"] + nbytes].view(dtype).view(shape)
