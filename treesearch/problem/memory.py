"""Whether tensors fit, asked before they are made: a process that runs out of memory is killed without a word."""

from __future__ import annotations

import os
from pathlib import Path

from treesearch.errors import MachineError


def total() -> int:
    """Bytes of memory that the machine has."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def available(device: str = "cpu") -> int:
    """Bytes that can be allocated without swapping, or on a GPU."""
    if device.startswith("cuda"):
        import torch

        return int(torch.cuda.mem_get_info()[0])
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def require(needed: int, doing: str, device: str = "cpu") -> None:
    """Raise MachineError unless `needed` bytes are free; `doing` says what for."""
    free = available(device)
    if needed > free:
        raise MachineError(
            f"{doing} takes about {needed / 2**30:.1f} GiB of memory, and {free / 2**30:.1f} GiB are free. "
            "Use smaller shapes or a machine with more memory."
        )
