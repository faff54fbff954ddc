"""The process that runs one candidate: maps the buffers it is handed, calls `launch`, returns clock readings.

Runs as a script in an interpreter without site packages, and imports nothing of treesearch: whatever the
candidate does to this process, there is no reference, no expected output and no verdict here to reach.

It reads one JSON line that describes the call, a line `{"load": true}` before which nothing of the candidate runs, then
two lines per launch: one that says which (`{"set": 0, "scalars": […]}`), which it answers with `{}` when it is
ready, and one, of whatever, that it then waits for. It launches and answers with `{"code": 0, "nanoseconds": 1234}`.
The contents of a set may come between the two. Where the first says `{}` it does no more than answer twice. With
`"burst": [0, 5, 3]` instead of a set, and scalars for each, it launches on all of these before it answers; with
`"idle": true` as well it does everything but launch. With `"warm": 0` it launches on a set twice, and times the second
launch.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import mmap
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

SCALARS: dict[str, Any] = {"bool": ctypes.c_bool, "int64": ctypes.c_int64, "float64": ctypes.c_double}
LONGEST_LINE = 64
"""Bytes of one that says no more than that it is time to begin."""
mappings: list[mmap.mmap] = []  # kept for the life of the process: a collected mapping would be unmapped

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
MAP_POPULATE = 0x8000


def pointer(buffer: dict[str, Any]) -> int:
    """Address of a buffer's first element. Inputs are mapped without write permission."""
    access = mmap.PROT_READ | (mmap.PROT_WRITE if buffer["writable"] else 0)
    flags = mmap.MAP_SHARED | MAP_POPULATE  # a fault in a page's first use is not the candidate's time
    mapped = LIBC.mmap(None, buffer["length"], access, flags, buffer["descriptor"], 0)
    if mapped is None or mapped == ctypes.c_void_p(-1).value:
        raise OSError("cannot map a buffer")
    os.close(buffer["descriptor"])
    return int(mapped) + int(buffer["offset"])


def scratch_pointer(library: ctypes.CDLL) -> int | None:
    """A page-aligned scratch area of the size that the candidate asks for, or a null pointer."""
    try:
        ask = library.scratch_bytes
    except AttributeError:
        return None
    ask.restype = ctypes.c_int64
    size = ask()
    if size <= 0:
        return None
    area = mmap.mmap(-1, size)
    mappings.append(area)
    return ctypes.addressof(ctypes.c_char.from_buffer(area))


def lock_down(how: dict[str, Any] | None, rules: str) -> None:
    """Have the kernel refuse this process, for good, the system calls that no candidate needs."""
    if how is None or rules not in how:
        return
    spec = importlib.util.spec_from_file_location("lockdown", how["module"])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.install(how["call"], bytes.fromhex(how[rules]))


def load_needed(names: list[str]) -> None:
    """Load the libraries that a candidate names, so that it brings no other code along than its own."""
    for name in names:
        with suppress(OSError):  # then the candidate cannot be loaded, and says why
            ctypes.CDLL(name)


def idle(*arguments: Any) -> int:
    """A launch that does nothing."""
    return 0


def timed(launches: list[Callable[[], int]]) -> dict[str, int]:
    """Code and nanoseconds of launches in a row, up to the first that fails."""
    code = nanoseconds = 0
    for launch in launches:
        started = time.perf_counter_ns()
        code = launch()
        nanoseconds += time.perf_counter_ns() - started
        if code:
            break
    return {"code": code, "nanoseconds": nanoseconds}


def load(call: dict[str, Any]) -> tuple[Any, int | None]:
    """The candidate's `launch`, and its scratch area."""
    lock_down(call["lockdown"], "program")
    library = ctypes.CDLL(call["library"], mode=os.RTLD_NOW | os.RTLD_LOCAL)
    lock_down(call["lockdown"], "loaded")
    launch = library.launch
    launch.restype = ctypes.c_int
    launch.argtypes = [*(SCALARS.get(kind, ctypes.c_void_p) for kind in call["arguments"]), ctypes.c_void_p]
    return launch, scratch_pointer(library)


def main() -> None:
    commands = os.fdopen(0, "r")
    replies = os.fdopen(int(sys.argv[1]), "w", buffering=1)
    call = json.loads(commands.readline())
    sets = [[pointer(buffer) for buffer in buffers] for buffers in call["sets"]]
    load_needed(call["needed"])
    launch: Any = idle
    scratch = None
    replies.write("{}\n")
    for line in commands:
        command = json.loads(line)
        if "load" in command:
            launch, scratch = load(call)
            replies.write("{}\n")
            continue
        due: list[tuple[int, list[Any]]] = []
        if "set" in command:
            due = [(command["set"], command["scalars"])]
        elif "burst" in command:
            due = list(zip(command["burst"], command["scalars"], strict=True))
        elif "warm" in command:
            due = [(command["warm"], command["scalars"])]
        launches: list[Callable[[], int]] = []
        for index, given in due:
            pointers, scalars = iter(sets[index]), iter(given)
            arguments = [next(scalars) if kind in SCALARS else next(pointers) for kind in call["arguments"]]
            launches.append(partial(idle if "idle" in command else launch, *arguments, scratch))
        replies.write("{}\n")
        os.read(0, LONGEST_LINE)
        if "warm" in command:
            timed(launches)
        replies.write(json.dumps(timed(launches)) + "\n")


if __name__ == "__main__":
    main()
