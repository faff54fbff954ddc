"""Tensors in memory that a child process can map, each an allocation of its own between guard bands."""

from __future__ import annotations

import errno
import mmap
import os
import random
from enum import Enum, auto
from typing import Any, Self

import torch

from treesearch.errors import MachineError
from treesearch.evaluation.checks import NONE, Check, Checks
from treesearch.records import Argument, Role, Signature

GUARD = 4096
"""Bytes, at least, before and after a tensor that must stay as they were: one page."""
ALIGNMENT = 256
"""Bytes that kernels may count on a tensor's address to be a multiple of."""
GUARD_BYTE = 0x5A
PAGE = mmap.PAGESIZE
SOILED, FEW = 8, 64
"""Elements that are poisoned where the others may be right already, and of how many there is one at the most."""


class SharedTensor:
    """A tensor that a child can map. `descriptor` is what the child inherits; `raw` are the tensor's bytes.

    What holds the memory is up to subclasses: they call `_place` with all of it, guard bands included.
    """

    descriptor: int
    tensor: torch.Tensor
    raw: torch.Tensor

    output = False
    """Whether it is one, to be overwritten before each launch."""

    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype, *, writable: bool) -> None:
        """`writable`: whether the child may write it."""
        self.nbytes = torch.empty(shape, dtype=dtype, device="meta").nbytes
        self.writable = writable
        self._shape, self._dtype = shape, dtype

    @classmethod
    def of(cls, argument: Argument, without: Checks = NONE) -> Self:
        output = argument.role is Role.OUTPUT
        made = cls(argument.shape, getattr(torch, argument.dtype), writable=output or Check.INPUTS in without)
        made.output = output
        return made

    def poison(self) -> None:
        """Fill with what no kernel would leave: NaN, or the guard byte for types that have none."""
        self.raw.fill_(self._poison)

    def touch(self) -> None:
        """Write what is there once more, so that caches hold as much of it as they do of poison."""
        self.raw.bitwise_or_(0)

    def zero(self) -> None:
        self.raw.zero_()

    def scramble(self, byte: int) -> None:
        """Make of what is there something that no kernel has written, different for each byte from 1 to 255."""
        self.raw.bitwise_xor_(byte)

    def soil(self, chance: random.Random) -> None:
        """Poison a few elements, somewhere: so few that no sample of what is there tells of them."""
        count = self.tensor.numel()
        places = chance.sample(range(count), min(SOILED, -(-count // FEW)))
        self.raw.view(count, self.tensor.element_size())[places] = self._poison

    def mend_guards(self) -> None:
        for guard in self._guards():
            guard.fill_(GUARD_BYTE)

    def guards_intact(self) -> bool:
        return all(bool((guard == GUARD_BYTE).all()) for guard in self._guards())

    def description(self) -> dict[str, Any]:
        """What a child needs in order to map it."""
        return {
            "descriptor": self.descriptor,
            "length": self._bytes.numel(),
            "offset": self._offset,
            "nbytes": self.nbytes,
            "writable": self.writable,
            "output": self.output,
        }

    def close(self) -> None:
        os.close(self.descriptor)

    def _place(self, memory: torch.Tensor, further: int = 0) -> None:
        """Put the tensor behind the first guard band of `memory` (uint8), which is so many bytes longer."""
        self._bytes, self._offset = memory, GUARD + further
        self.raw = memory[self._offset : self._offset + self.nbytes]
        self.tensor = self.raw.view(self._dtype).view(self._shape)
        self.mend_guards()

    @property
    def _poison(self) -> int:
        return 0xFF if self.tensor.is_floating_point() else GUARD_BYTE

    def _guards(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self._bytes[: self._offset], self._bytes[self._offset + self.nbytes :]


class HostTensor(SharedTensor):
    """A tensor in anonymous shared memory (memfd); an input's descriptor cannot be mapped for writing."""

    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype, *, writable: bool) -> None:
        super().__init__(shape, dtype, writable=writable)
        # At no page's beginning, and each elsewhere: nothing better than what is promised may be relied on.
        further = ALIGNMENT * random.randrange(1, PAGE // ALIGNMENT, 2)
        length = -(-(2 * GUARD + further + self.nbytes) // PAGE) * PAGE
        own = os.memfd_create("treesearch", os.MFD_CLOEXEC)
        try:
            os.posix_fallocate(own, 0, length)
            self._memory = mmap.mmap(own, length)
            self.descriptor = os.open(f"/proc/self/fd/{own}", (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.ENOMEM):
                raise MachineError(f"Not enough memory for a buffer of {self.nbytes >> 20} MiB.") from error
            raise
        finally:
            os.close(own)
        self._place(torch.frombuffer(self._memory, dtype=torch.uint8), further)


class Left(Enum):
    """What outputs hold before a launch."""

    POISON = auto()
    """What no kernel would leave: one that writes not everything is found out by it."""
    OWN = auto()
    """What is there: the kernel's answers to something else, as where it is used again and again. Something was written
    to a few of its elements meanwhile."""
    SCRAMBLED = auto()
    """What is there, made unrecognisable: somebody else's data, as memory that is used again may hold."""
    ZEROS = auto()
    """As fresh memory often is, but for a few elements: else what is to be zero need not be written, and a kernel that
    samples what it finds would know."""


class BufferSet:
    """One tensor per pointer argument of `launch`, in order."""

    def __init__(self, signature: Signature, kind: type[SharedTensor] = HostTensor, without: Checks = NONE) -> None:
        self.signature = signature
        pointers = [argument for argument in signature.arguments if argument.role is not Role.SCALAR]
        self.tensors: dict[str, SharedTensor] = {}
        try:
            for argument in pointers:
                self.tensors[argument.name] = kind.of(argument, without)
        except BaseException:  # Ctrl-C too: what was made so far holds memory that nobody else would free
            self.close()
            raise

    @property
    def descriptors(self) -> tuple[int, ...]:
        return tuple(shared.descriptor for shared in self.tensors.values())

    def fill(
        self,
        values: dict[str, torch.Tensor],
        without: Checks = NONE,
        *,
        left: Left = Left.POISON,
        chance: random.Random | None = None,
    ) -> None:
        """Write new contents into the same places, and into outputs what a launch is to find `left` there, drawn by
        `chance` as far as it is drawn."""
        chance = chance or random.Random()
        for name, value in values.items():
            self.tensors[name].tensor.copy_(value)
        for argument in self.signature.of(Role.OUTPUT) if Check.POISON not in without else ():
            output = self.tensors[argument.name]
            match left:
                case Left.POISON:
                    output.poison()
                case Left.OWN:
                    output.touch()
                    output.soil(chance)
                case Left.SCRAMBLED:
                    output.scramble(chance.randint(1, 255))
                case Left.ZEROS:
                    output.zero()
                    output.soil(chance)
        for shared in self.tensors.values():
            shared.mend_guards()

    def outputs(self) -> list[torch.Tensor]:
        return [self.tensors[argument.name].tensor for argument in self.signature.of(Role.OUTPUT)]

    def damage(self, values: dict[str, torch.Tensor], without: Checks = NONE) -> str:
        """What was written though it must not be, such as an input with other contents than `values`, or nothing."""
        for name, shared in self.tensors.items():
            if Check.GUARDS not in without and not shared.guards_intact():
                return f"the memory next to {name}"
            if Check.INPUTS in without or name not in values:
                continue
            if not torch.equal(as_words(shared.tensor), as_words(values[name])):
                return f"the input {name}"
        return ""

    def description(self) -> list[dict[str, Any]]:
        return [shared.description() for shared in self.tensors.values()]

    def close(self) -> None:
        for shared in self.tensors.values():
            shared.close()


def copied(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor's very bytes in memory of their own: torch's clone makes ones of whatever a boolean tensor holds."""
    return tensor.view(torch.uint8).clone().view(torch.bool) if tensor.dtype is torch.bool else tensor.clone()


def as_words(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor's memory in the widest integers that it is made of, so that NaNs compare equal to themselves."""
    flat = tensor.contiguous().flatten()
    if flat.storage_offset() * flat.itemsize % 8:
        flat = flat.clone()
    return flat.view(torch.uint8 if flat.nbytes % 8 else torch.int64)


def map_tensor(buffer: dict[str, Any], shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """In a child: a tensor over a described buffer, read-only."""
    memory = mmap.mmap(buffer["descriptor"], buffer["length"], mmap.MAP_SHARED, mmap.PROT_READ)
    data = torch.frombuffer(memory, dtype=torch.uint8)
    nbytes = torch.empty(shape, dtype=dtype, device="meta").nbytes
    return data[buffer["offset"] : buffer["offset"] + nbytes].view(dtype).view(shape)
