"""What is known of a kernel beside its evaluation."""

from __future__ import annotations

from dataclasses import dataclass

from treesearch.languages.mix import Mix


@dataclass(frozen=True)
class Launch:
    """A kernel function as a captured CUDA launch runs it."""

    function: str
    """As in its source, without parameters; empty where the driver does not tell."""
    grid: tuple[int, int, int]
    """Blocks along x, y and z."""
    block: tuple[int, int, int]
    """Threads along x, y and z."""
    shared_bytes: int
    """Dynamic shared memory of a block."""
    times: int = 1
    """How often a launch runs it like that."""

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]


@dataclass(frozen=True)
class Metric:
    """One figure that a profiler read while a kernel function ran."""

    function: str
    """As in its source, without parameters."""
    name: str
    """What it tells, such as `DRAM throughput`."""
    value: float
    unit: str


@dataclass(frozen=True)
class Seen:
    """What the disassembler, the captured launch and the profiler showed; empty where they showed nothing."""

    mixes: tuple[Mix, ...] = ()
    launches: tuple[Launch, ...] = ()
    metrics: tuple[Metric, ...] = ()
