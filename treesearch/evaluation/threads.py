"""How many threads the controller's own torch computes with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def single_threaded() -> Iterator[None]:
    """Keep this process's own OpenMP threads asleep: filling and checking must not spin into a timed call, and waking
    them for blocks that fit a cache takes longer than computing does."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
