"""Control groups (version 2), where this process may make them: they limit memory and processes of a whole tree."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import time
from collections import deque
from functools import cache
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")
MOST_TASKS = 4096
LONGEST_LEAVING = 1.0
"""Seconds that killed processes may take to be gone."""
_numbers = itertools.count()
_leaving: deque[str] = deque()
"""Groups whose processes are killed, and not all gone when it was looked last."""


@cache
def parent() -> Path | None:
    """Where groups can be made that limit memory and tasks, or None."""
    try:
        own = next(line for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))
    except (OSError, StopIteration):
        return None
    # Only the root may hold both processes and groups with limits, so our own group seldom serves.
    return next(filter(_usable, (MOUNT / own.removeprefix("0::").lstrip("/"), MOUNT)), None)


def _usable(folder: Path) -> bool:
    """Whether a group made there can hold a process of ours, and limit it."""
    try:
        (folder / "cgroup.subtree_control").write_text("+memory +pids")
        trial = folder / f"treesearch-{os.getpid()}-trial"
        trial.mkdir()
        usable = all(os.access(trial / name, os.W_OK) for name in ("memory.max", "pids.max", "cgroup.procs"))
        trial.rmdir()
    except OSError:
        return False
    return usable


def make(memory: int) -> str:
    """A fresh group's path, for at most `memory` bytes (0: no limit); empty where there is none to be had."""
    above = parent()
    if above is None:
        return ""
    path = above / f"treesearch-{os.getpid()}-{next(_numbers)}"
    try:
        path.mkdir()
        (path / "pids.max").write_text(str(MOST_TASKS))
        if memory:
            (path / "memory.max").write_text(str(memory))
            with contextlib.suppress(OSError):  # a kernel without swap has no such file
                (path / "memory.swap.max").write_text("0")
    except OSError:
        remove(str(path))
        return ""
    return str(path)


def remove(path: str) -> None:
    """Kill what is left in a group, which is removed as soon as nothing is: now, or when it is settled."""
    if not path:
        return
    with contextlib.suppress(OSError):
        Path(path, "cgroup.kill").write_text("1")
    if not _gone(path):
        _leaving.append(path)


def settle() -> None:
    """Wait until the groups that were to be removed are, for a second each at the most.

    The dead take a moment to leave; a process that has used a GPU takes half a second.
    """
    while _leaving:
        path, until = _leaving.popleft(), time.monotonic() + LONGEST_LEAVING
        while not _gone(path) and time.monotonic() < until:
            time.sleep(0.005)


def _gone(path: str) -> bool:
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


atexit.register(settle)
