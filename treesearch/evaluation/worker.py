"""The process that runs one candidate: maps the buffers it is handed, calls `launch`, returns clock readings.

Runs as a script in an interpreter without site packages, and imports nothing of treesearch: whatever the
candidate does to this process, there is no reference, no expected output and no verdict here to reach.

It reads one JSON line that describes the call, a line `{"load": true}` before which nothing of the candidate runs, then
one line per launch (`{"set": 0, "scalars": […]}`), and
answers each with a line (`{"code": 0, "nanoseconds": 1234}`). A line `{}` it just answers. With `"burst": [0, 5, 3]`
instead of a set it launches on each of these before it answers, and overwrites some of the outputs before each; a line
`{"times": 3}` has it do all of that but the launches.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import mmap
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

SCALARS: dict[str, Any] = {"bool": ctypes.c_bool, "int64": ctypes.c_int64, "float64": ctypes.c_double}
mappings: list[mmap.mmap] = []  # kept for the life of the process: a collected mapping would be unmapped

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
LIBC.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
MAP_POPULATE = 0x8000
SPOTS, WORD = 32, 8
"""Places of an output that are overwritten before each launch of a burst. More would be as good, since nobody knows
which they are, but what a kernel's threads have written is slow to overwrite from another core."""
POISON = 0xFF
"""In every byte of a floating-point number: NaN."""


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


def lock_down(how: dict[str, Any] | None) -> None:
    """Have the kernel refuse this process, for good, the system calls that no candidate needs."""
    if how is None:
        return
    spec = importlib.util.spec_from_file_location("lockdown", how["module"])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.install(how["call"], bytes.fromhex(how["program"]))


def output_areas(buffers: list[dict[str, Any]], pointers: list[int]) -> list[tuple[int, int]]:
    """Address and size of what is overwritten before each launch of a burst."""
    areas = zip(pointers, buffers, strict=True)
    return [(address, buffer["nbytes"]) for address, buffer in areas if buffer["output"]]


def timed(launches: Sequence[tuple[Callable[[], int], list[tuple[int, int]]]]) -> dict[str, int]:
    """Code and nanoseconds of launches in a row, up to the first that fails. Each comes with its outputs."""
    code = nanoseconds = 0
    for launch, areas in launches:
        for address, size in areas:
            for _ in range(SPOTS):
                place = random.randrange(size) // WORD * WORD
                LIBC.memset(address + place, POISON, min(WORD, size - place))
        started = time.perf_counter_ns()
        code = launch()
        nanoseconds += time.perf_counter_ns() - started
        if code:
            break
    return {"code": code, "nanoseconds": nanoseconds}


def load(call: dict[str, Any]) -> tuple[Any, int | None]:
    """The candidate's `launch`, and its scratch area."""
    lock_down(call["lockdown"])
    library = ctypes.CDLL(call["library"], mode=os.RTLD_NOW | os.RTLD_LOCAL)
    launch = library.launch
    launch.restype = ctypes.c_int
    launch.argtypes = [*(SCALARS.get(kind, ctypes.c_void_p) for kind in call["arguments"]), ctypes.c_void_p]
    return launch, scratch_pointer(library)


def main() -> None:
    commands = os.fdopen(0, "r")
    replies = os.fdopen(int(sys.argv[1]), "w", buffering=1)
    call = json.loads(commands.readline())
    sets = [[pointer(buffer) for buffer in buffers] for buffers in call["sets"]]
    poisoned = "poison" not in call["without"]
    outputs = [output_areas(*each) if poisoned else [] for each in zip(call["sets"], sets, strict=True)]
    launch: Any = int  # int() is 0, as a launch that does nothing
    scratch = None
    replies.write("{}\n")
    for line in commands:
        command = json.loads(line)
        if "load" in command:
            launch, scratch = load(call)
        due: list[tuple[int, list[tuple[int, int]]]]
        if "set" in command:  # the controller has overwritten its outputs
            due = [(command["set"], [])]
        elif "burst" in command:
            due = [(index, outputs[index]) for index in command["burst"]]
        else:  # how long a question takes that launches nothing
            timed([(int, outputs[0])] * command.get("times", 0))
            replies.write("{}\n")
            continue
        launches = []
        for index, areas in due:
            pointers, scalars = iter(sets[index]), iter(command["scalars"])
            arguments = [next(scalars) if kind in SCALARS else next(pointers) for kind in call["arguments"]]
            launches.append((partial(launch, *arguments, scratch), areas))
        replies.write(json.dumps(timed(launches)) + "\n")


if __name__ == "__main__":
    main()
