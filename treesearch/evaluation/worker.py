"""The process that runs one candidate: maps the buffers it is handed, calls `launch`, returns clock readings.

Runs as a script in an interpreter without site packages, and imports nothing of treesearch: whatever the
candidate does to this process, there is no reference, no expected output and no verdict here to reach.

It reads one JSON line that describes the call, then one line per launch (`{"set": 0, "scalars": […]}`), and
answers each with a line (`{"code": 0, "nanoseconds": 1234}`). A line `{}` it just answers.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import sys
import time
from typing import Any

SCALARS: dict[str, Any] = {"bool": ctypes.c_bool, "int64": ctypes.c_int64, "float64": ctypes.c_double}
mappings: list[mmap.mmap] = []  # kept for the life of the process: a collected mapping would be unmapped

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]


def pointer(buffer: dict[str, Any]) -> int:
    """Address of a buffer's first element. Inputs are mapped without write permission."""
    access = mmap.PROT_READ | (mmap.PROT_WRITE if buffer["writable"] else 0)
    mapped = LIBC.mmap(None, buffer["length"], access, mmap.MAP_SHARED, buffer["descriptor"], 0)
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


def main() -> None:
    commands = os.fdopen(0, "r")
    replies = os.fdopen(int(sys.argv[1]), "w", buffering=1)
    call = json.loads(commands.readline())
    sets = [[pointer(buffer) for buffer in buffers] for buffers in call["sets"]]
    library = ctypes.CDLL(call["library"], mode=os.RTLD_NOW | os.RTLD_LOCAL)
    launch = library.launch
    launch.restype = ctypes.c_int
    launch.argtypes = [*(SCALARS.get(kind, ctypes.c_void_p) for kind in call["arguments"]), ctypes.c_void_p]
    scratch = scratch_pointer(library)
    replies.write("{}\n")
    for line in commands:
        command = json.loads(line)
        if "set" not in command:  # how long a question takes that launches nothing
            replies.write("{}\n")
            continue
        pointers, scalars = iter(sets[command["set"]]), iter(command["scalars"])
        arguments = [next(scalars) if kind in SCALARS else next(pointers) for kind in call["arguments"]]
        started = time.perf_counter_ns()
        code = launch(*arguments, scratch)
        nanoseconds = time.perf_counter_ns() - started
        replies.write(json.dumps({"code": code, "nanoseconds": nanoseconds}) + "\n")


if __name__ == "__main__":
    main()
