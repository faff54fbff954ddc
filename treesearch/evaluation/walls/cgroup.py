"""Control groups (version 2), where this process may make them: they limit memory and processes of a whole tree."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from functools import cache
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")
MOST_TASKS = 4096
_numbers = itertools.count()


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
    """Kill what is left in a group, and remove it."""
    if not path:
        return
    with contextlib.suppress(OSError):
        Path(path, "cgroup.kill").write_text("1")
    for _ in range(100):  # the dead take a moment to leave
        try:
            os.rmdir(path)
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.01)
