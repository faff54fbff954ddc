"""What is to be made fast."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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

    @property
    def digest(self) -> str:
        return digest(self.source)
