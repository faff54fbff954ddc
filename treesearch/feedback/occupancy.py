"""How many blocks of a kernel an SM can hold at once, and what limits that.

The limits are those of the CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; how registers
and shared memory are handed out is what NVIDIA's own calculator, `cuda_occupancy.h` of the toolkit, does. A test
compares the two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

WARP = 32
REGISTERS = 65536
"""Of an SM, and the most that one block gets, on every architecture below."""
MOST_REGISTERS = 255
"""A thread."""
REGISTER_UNIT = 256
"""Registers are handed out to a warp in multiples of this."""
PARTITIONS = 4
"""Parts of an SM with registers of their own."""
MOST_THREADS = 1024
"""A block."""
SHARED_UNIT = 128
"""Shared memory is handed out to a block in multiples of these bytes."""
RESERVED_SHARED = 1024
"""Bytes that each block costs beside what it asks for."""


@dataclass(frozen=True)
class Limits:
    """What an SM of an architecture holds."""

    warps: int
    blocks: int
    shared_bytes: int


LIMITS = {
    80: Limits(64, 32, 164 << 10),
    86: Limits(48, 16, 100 << 10),
    89: Limits(48, 24, 100 << 10),
    90: Limits(64, 32, 228 << 10),
    100: Limits(64, 32, 228 << 10),
}
"""By compute capability, times ten."""


@dataclass(frozen=True)
class Occupancy:
    """Blocks of one kernel that an SM holds at once."""

    blocks: int
    warps: int
    most_warps: int
    """That an SM of this architecture holds."""
    limits: tuple[str, ...]
    """What keeps a further block out: `registers`, `shared memory`, `threads`, `blocks`."""


def limits(architecture: str) -> Limits | None:
    """The limits of `sm_90a`; None for an architecture that the table does not have."""
    found = re.fullmatch(r"sm_(\d+)[af]?", architecture)
    return LIMITS.get(int(found[1])) if found else None


def occupancy(architecture: str, threads: int, registers: int, shared_bytes: int) -> Occupancy | None:
    """Of blocks of so many threads, with registers a thread and shared memory a block, static and dynamic together.

    None for an architecture that the table does not have, and for a block that no SM can hold.
    """
    sm = limits(architecture)
    if sm is None or not 0 < threads <= MOST_THREADS or not 0 < registers <= MOST_REGISTERS:
        return None
    warps = -(-threads // WARP)
    bounds = {
        "registers": _by_registers(warps, registers),
        "shared memory": sm.shared_bytes // _rounded(shared_bytes + RESERVED_SHARED, SHARED_UNIT),
        "threads": sm.warps // warps,
        "blocks": sm.blocks,
    }
    blocks = min(bounds.values())
    if blocks == 0:
        return None
    return Occupancy(blocks, blocks * warps, sm.warps, tuple(name for name, bound in bounds.items() if bound == blocks))


def _by_registers(warps: int, registers: int) -> int:
    a_warp = _rounded(registers * WARP, REGISTER_UNIT)
    if a_warp * _rounded(warps, PARTITIONS) > REGISTERS:  # as the hardware checks, in all partitions at once
        return 0
    return REGISTERS // PARTITIONS // a_warp * PARTITIONS // warps


def _rounded(number: int, unit: int) -> int:
    return -(-number // unit) * unit
