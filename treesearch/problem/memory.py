"""Whether tensors fit, asked before they are made (a process that runs out of memory is killed without a word), and
what becomes of the memory of those that are freed."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from treesearch.errors import MachineError

M_MMAP_MAX, M_TRIM_THRESHOLD = -4, -1
"""Parameters of glibc's mallopt: how many pieces may be mapped one by one, and how much may lie free at the end."""
MMAP_MAX, TRIM_THRESHOLD = 65536, 128 << 10
"""What they are where nobody has set them."""


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


@contextmanager
def reused() -> Iterator[None]:
    """Have tensors made inside reuse the memory of those that were freed before, which goes back to the system at the
    end. By itself malloc gives large ones new pages every time, and the first touch of these takes longer than most
    arithmetic. Without glibc nothing changes.
    """
    library = ctypes.CDLL(None)
    mallopt, trim = getattr(library, "mallopt", None), getattr(library, "malloc_trim", None)
    if mallopt is None or trim is None:
        yield
        return
    mallopt(M_MMAP_MAX, 0)
    mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)
    try:
        yield
    finally:
        mallopt(M_MMAP_MAX, MMAP_MAX)
        mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD)
        trim(0)
