"""What is to be made fast."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from math import prod

from treesearch.records.digest import digest


class Role(StrEnum):
    INPUT = "input"
    SCALAR = "scalar"
    PARAMETER = "parameter"
    BUFFER = "buffer"
    OUTPUT = "output"


@dataclass(frozen=True)
class Argument:
    """One argument of `launch`. `dtype` is torch's name without the prefix; a scalar's shape is ()."""

    name: str
    role: Role
    dtype: str
    shape: tuple[int, ...]
    origin: str = ""
    """Where the reference keeps it: a parameter's dotted name, else the same as `name`."""

    @property
    def nbytes(self) -> int:
        """Bytes of its tensor; torch's names say the width in bits, and `bool` is the exception."""
        bits = re.search(r"\d+", self.dtype)
        return prod(self.shape) * (int(bits[0]) // 8 if bits else 1)


@dataclass(frozen=True)
class Signature:
    """What `launch` receives: inputs and scalars in forward's order, parameters, buffers, outputs."""

    arguments: tuple[Argument, ...]

    def of(self, *roles: Role) -> tuple[Argument, ...]:
        return tuple(argument for argument in self.arguments if argument.role in roles)


@dataclass(frozen=True)
class Problem:
    """A PyTorch reference in KernelBench's format, with its derived C signature."""

    name: str
    source: str
    signature: Signature
    tolerance: float = 1e-2
    precision: str = "float32"
    flops: int | None = None
    """Operations of one call, a multiply-add counted as two; None where they cannot be counted."""

    @property
    def digest(self) -> str:
        return digest(self.source)

    @property
    def bytes_read(self) -> int:
        """Compulsory traffic of one call: every input, parameter and buffer once."""
        return sum(one.nbytes for one in self.signature.of(Role.INPUT, Role.PARAMETER, Role.BUFFER))

    @property
    def bytes_written(self) -> int:
        """Compulsory traffic of one call: every output once."""
        return sum(one.nbytes for one in self.signature.of(Role.OUTPUT))
