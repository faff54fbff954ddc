"""What is to be made fast."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import prod

from treesearch.records.digest import digest

SHORTEST_ROW = 32
"""Shorter rows of an output are joined with their neighbours: a lone near-zero element has no relative error."""


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

    @property
    def floating(self) -> bool:
        return "float" in self.dtype

    @property
    def holds_numbers(self) -> bool:
        """Whether its elements are results of their own: in floating point, and one row or of last dimension 1."""
        count = prod(self.shape)
        alone = count >= 2 * SHORTEST_ROW and (self.shape[-1] == 1 or row_length(self.shape) == count)
        return alone and self.floating


def row_length(shape: Sequence[int]) -> int:
    """Elements of a row: the last dimension, joined with earlier ones while it is shorter than `SHORTEST_ROW`."""
    axis, length = len(shape), 1
    while axis > 0 and length < SHORTEST_ROW:
        axis -= 1
        length *= shape[axis]
    return length


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
