"""What a process and its descendants use of the CPU, as Linux counts it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

NO_FILE = "memory of no file"
KERNELS_OWN = ("[vdso]", "[vsyscall]")


def family(process: int) -> tuple[int, ...]:
    """Ids of a process and of all its descendants, those in PID namespaces of their own included."""
    found = [process]
    for one in found:  # grows while it is walked
        found += _children(one)
    return tuple(found)


def stop_others(process: int) -> frozenset[int]:
    """Stop those descendants of a process that are in groups of their own, and which a signal to its group misses.

    Returns them: until they go on nobody can have started another.
    """
    told: set[int] = set()
    while missed := {one for one in family(process) if one not in told and _group(one) not in (None, process)}:
        signal_each(missed, signal.SIGSTOP)
        told |= missed  # and once more: one may have started another meanwhile
    return frozenset(told)


def signal_each(processes: Iterable[int], number: int) -> None:
    """Send a signal to processes, of which some may be gone."""
    for one in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(one, number)


def _group(process: int) -> int | None:
    """None for one that is gone."""
    try:
        return os.getpgid(process)
    except OSError:
        return None


def cpu_nanoseconds(processes: Iterable[int]) -> int:
    """CPU time that processes have used so far, threads that ended included. One that is gone counts nothing."""
    total = 0
    for process in processes:
        with contextlib.suppress(OSError):
            total += time.clock_gettime_ns(~process << 3 | 2)  # Linux's number for the CPU clock of a process
    return total


def runnable(processes: Iterable[int]) -> bool:
    """Whether a thread of the processes runs, or waits for nothing but a core to run on."""
    return any("R" in _states(process) for process in processes)


def stopped(processes: Iterable[int]) -> bool:
    """Whether no thread of the processes can go on by itself."""
    return all(set(_states(process)) <= {"T", "t", "Z", "X"} for process in processes)


def code(processes: Iterable[int]) -> frozenset[str]:
    """What processes may execute, as far as that may be read: files such as programs and libraries, `… written over`
    for those of which some code is no longer the file's, and NO_FILE for memory that is of none."""
    found: set[str] = set()
    for process in processes:
        with contextlib.suppress(OSError):  # it ended meanwhile, or is another user's
            found.update(_executable(Path(f"/proc/{process}/smaps").read_text(errors="replace").splitlines()))
    return frozenset(found)


def _executable(lines: Iterable[str]) -> Iterator[str]:
    name = ""
    for line in lines:
        if begins := re.match(r"[0-9a-f]+-[0-9a-f]+ (\S+) \S+ \S+ (\d+) *(.*)", line):
            access, inode, path = begins.groups()
            name = (path if inode != "0" or path in KERNELS_OWN else NO_FILE) if "x" in access else ""
            if name:
                yield name
        elif name not in ("", NO_FILE) and re.match(r"Anonymous: +[1-9]", line):
            yield f"{name}, written over"


def _states(process: int) -> str:
    """One letter for each thread: R, S, T, …"""
    states = ""
    with contextlib.suppress(OSError):  # it ended meanwhile
        for thread in Path(f"/proc/{process}/task").iterdir():
            states += (thread / "stat").read_text(errors="replace").rpartition(") ")[2][:1]
    return states


def _children(process: int) -> list[int]:
    children: list[int] = []
    with contextlib.suppress(OSError):  # it ended meanwhile, or a kernel without this list
        for thread in Path(f"/proc/{process}/task").iterdir():
            children += map(int, (thread / "children").read_text().split())
    return children
