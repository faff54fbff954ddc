"""The process that runs one CUDA candidate: maps the memory it is handed, captures `launch`, times its replays.

Runs as a script in an interpreter without site packages. Beside the standard library it loads only `driver.py` and
`nodes.py`: whatever the candidate does to this process, there is no torch, no reference, no expected output and no
verdict here.

`launch` runs once as it is and once under capture for each set of buffers, and now and then as it is again, for its
answers alone. What is timed are replays of the captured graphs, each after the L2 cache was flushed, one at a time or
in a burst; only a warm one comes right after another replay of its own. The lines it reads and writes are those of the
CPU's worker, and two more: `{"prepare": 0, "scalars": […]}` has it capture a graph, `{"plain": 0, "scalars": […]}` call
`launch` as it is. Instead of a reading, a reply may hold `failed` (a status) and `error`.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

SCALARS: dict[str, Any] = {"bool": ctypes.c_bool, "int64": ctypes.c_int64, "float64": ctypes.c_double}
LONGEST_LINE = 64
"""Bytes of one that says no more than that it is time to begin."""


def load(path: Path) -> Any:
    """A module that lies in no package of this interpreter's."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


DRIVER, NODES = (load(Path(__file__).with_name(f"{name}.py")) for name in ("driver", "nodes"))


class Failed(Exception):
    def __init__(self, status: str, error: str) -> None:
        super().__init__(error)
        self.status = status


class Candidate:
    """The candidate's library on its buffers, with one captured graph for each set of arguments it was called with."""

    def __init__(self, cuda: Any, call: dict[str, Any]) -> None:
        self.cuda = cuda
        self.kinds: list[str] = call["arguments"]
        self.sets = [[self.pointer(buffer) for buffer in buffers] for buffers in call["sets"]]
        self.outputs = [output_areas(*each) for each in zip(call["sets"], self.sets, strict=True)]
        self.poisoned = "poison" not in call["without"]
        # One that waits for the legacy stream: work that a launch puts there breaks the capture.
        self.stream = cuda.handle("cuStreamCreate", 0)
        self.events = [cuda.handle("cuEventCreate", 0) for _ in range(2)]
        self.flush_bytes: int = call["flush_bytes"]
        self.flushed = cuda.handle("cuMemAlloc_v2", self.flush_bytes)
        self.runtime = ctypes.CDLL(call["cudart"], mode=os.RTLD_NOW | os.RTLD_GLOBAL)
        self.runtime.cudaGetErrorString.restype = ctypes.c_char_p
        self.nodes = NODES.Nodes(cuda, DRIVER.CudaError, Path(call["library"]).read_bytes())
        self.nodes_checked = "graph-nodes" not in call["without"]
        self.library: str = call["library"]
        self.lockdown: dict[str, Any] | None = call["lockdown"]
        self.scratch = self.scratch_bytes = 0
        self.graphs: dict[tuple[Any, ...], int] = {}

    def load(self) -> None:
        """From here on code of the candidate's own runs, and many system calls are refused."""
        if self.lockdown is not None:
            load(Path(self.lockdown["module"])).install(self.lockdown["call"], bytes.fromhex(self.lockdown["program"]))
        library = ctypes.CDLL(self.library, mode=os.RTLD_NOW | os.RTLD_LOCAL)
        self.scratch, self.scratch_bytes = self.scratch_area(library)
        self.launch = library.launch
        self.launch.restype = ctypes.c_int
        types = [SCALARS.get(kind, ctypes.c_void_p) for kind in self.kinds]
        self.launch.argtypes = [*types, ctypes.c_void_p, ctypes.c_void_p]

    def pointer(self, buffer: dict[str, Any]) -> int:
        """Address of a buffer's first element."""
        memory = self.cuda.take(buffer["descriptor"])
        os.close(buffer["descriptor"])
        return int(self.cuda.map(memory, buffer["length"], writable=buffer["writable"])) + int(buffer["offset"])

    def scratch_area(self, library: ctypes.CDLL) -> tuple[int, int]:
        """Address and size of the scratch area that the candidate asks for, or zeros."""
        try:
            ask = library.scratch_bytes
        except AttributeError:
            return 0, 0
        ask.restype = ctypes.c_int64
        size = int(ask())
        if size <= 0:
            return 0, 0
        try:
            return self.cuda.handle("cuMemAlloc_v2", size), size
        except DRIVER.CudaError as error:
            raise Failed(
                "crashed", f"there is no room for the {size} bytes that scratch_bytes() asks for: {error}"
            ) from None

    def prepare(self, index: int, scalars: list[Any]) -> int:
        """The graph for one set of buffers and scalars, captured when it is first needed."""
        key = (index, *scalars)
        if key not in self.graphs:
            arguments = self.arguments(index, scalars)
            self.poison_scratch()
            self.run_plainly(arguments)
            self.graphs[key] = self.capture(arguments)
        return self.graphs[key]

    def arguments(self, index: int, scalars: list[Any]) -> list[Any]:
        pointers, values = iter(self.sets[index]), iter(scalars)
        return [next(values) if kind in SCALARS else next(pointers) for kind in self.kinds]

    def plain(self, index: int, scalars: list[Any]) -> None:
        """One call of `launch` as a user makes it, behind work on its stream that takes a while and overwrites the
        outputs in the end: a kernel that does not wait for it, on another stream, is overwritten."""
        self.poison_scratch()
        self.flush()
        for address, size in self.outputs[index] if self.poisoned else []:
            self.cuda.call("cuMemsetD8Async", address, 0xFF, size, self.stream)
        self.run_plainly(self.arguments(index, scalars))

    def run_plainly(self, arguments: list[Any]) -> None:
        """Once without capture, so that a fault is reported as what it is."""
        if code := self.launch(*arguments, self.scratch, self.stream):
            raise Failed("crashed", f"launch returned {code}: {self.reason(code)}")
        if code := self.runtime.cudaGetLastError():
            raise Failed("crashed", f"launch returned 0 although a CUDA call in it failed: {self.reason(code)}")
        self.join("the kernel failed")

    def capture(self, arguments: list[Any]) -> int:
        """An executable graph of what `launch` enqueues. Capture forbids it to allocate, synchronise or wait."""
        self.cuda.call("cuStreamBeginCapture_v2", self.stream, DRIVER.CAPTURE_GLOBAL)
        code = self.launch(*arguments, self.scratch, self.stream)
        captured = ctypes.c_uint64()
        try:
            self.cuda.call("cuStreamEndCapture", self.stream, ctypes.byref(captured))
        except DRIVER.CudaError as error:
            raise Failed("broke_contract", f"launch cannot be captured into a CUDA graph: {error}") from None
        if code:
            raise Failed("broke_contract", f"under graph capture launch returned {code}: {self.reason(code)}")
        if not captured.value:
            raise Failed("broke_contract", "launch ended the stream's capture")
        if not self.check_nodes(captured.value):
            raise Failed("broke_contract", "launch enqueues nothing on its stream")
        made = self.cuda.handle("cuGraphInstantiateWithFlags", captured.value, 0)
        self.cuda.call("cuGraphUpload", made, self.stream)
        self.join("the graph cannot be prepared")
        return int(made)

    def reason(self, code: int) -> str:
        """What an error code of the CUDA runtime means."""
        return str((self.runtime.cudaGetErrorString(code) or b"").decode())

    def check_nodes(self, graph: int) -> int:
        """How many nodes the graph has; all of them are what a launch may enqueue."""
        if not self.nodes_checked:
            return len(self.nodes.nodes(graph))
        try:
            return int(self.nodes.check(graph))
        except NODES.Refused as refused:
            raise Failed("broke_contract", str(refused)) from None

    def poison_scratch(self) -> None:
        if self.scratch_bytes:
            self.cuda.call("cuMemsetD8Async", self.scratch, 0xFF, self.scratch_bytes, self.stream)

    def flush(self) -> None:
        """Have the L2 cache hold nothing of the call before, lines that were to persist included."""
        self.cuda.call("cuCtxResetPersistingL2Cache")
        self.cuda.call("cuMemsetD8Async", self.flushed, 0, self.flush_bytes, self.stream)

    def timed(self, graph: int | None, *, warm: bool = False) -> int:
        """Nanoseconds of one replay with a cold L2 cache, or after another one; of nothing, where there is no graph."""
        self.poison_scratch()
        self.flush()
        if warm:
            self.cuda.call("cuGraphLaunch", graph, self.stream)
        self.cuda.call("cuEventRecord", self.events[0], self.stream)
        if graph is not None:
            self.cuda.call("cuGraphLaunch", graph, self.stream)
        self.cuda.call("cuEventRecord", self.events[1], self.stream)
        self.join("the kernel failed")
        milliseconds = ctypes.c_float()
        self.cuda.call("cuEventElapsedTime", ctypes.byref(milliseconds), *self.events)
        return round(milliseconds.value * 1e6)

    def burst(self, replays: list[tuple[int | None, int]]) -> None:
        """Replays in a row, each a graph with its set, with a cold L2 cache and onto overwritten outputs.

        Without a graph all but the replay. Scratch is left alone, so that all but the replays takes as long before a
        candidate is loaded as afterwards. Nothing is waited for in between: it is the time seen from outside that
        counts.
        """
        for graph, index in replays:
            for address, size in self.outputs[index] if self.poisoned else []:
                self.cuda.call("cuMemsetD8Async", address, 0xFF, size, self.stream)
            self.flush()
            if graph is not None:
                self.cuda.call("cuGraphLaunch", graph, self.stream)
        self.join("the kernel failed")

    def join(self, doing: str) -> None:
        """Wait for everything in the context, on whatever stream."""
        try:
            self.cuda.call("cuCtxSynchronize")
        except DRIVER.CudaError as error:
            raise Failed("crashed", f"{doing}: {error}") from None


def output_areas(buffers: list[dict[str, Any]], pointers: list[int]) -> list[tuple[int, int]]:
    """Address and size of what is overwritten before each replay of a burst."""
    areas = zip(pointers, buffers, strict=True)
    return [(address, buffer["nbytes"]) for address, buffer in areas if buffer["output"]]


def loaded(candidate: Candidate, call: dict[str, Any]) -> dict[str, Any]:
    """Load the candidate's library and capture its graphs; what these launch."""
    candidate.load()
    for index in range(len(candidate.sets)):
        candidate.prepare(index, call["scalars"])
    return {"launches": [[*launch, times] for launch, times in candidate.nodes.launches.items()]}


def ready(candidate: Candidate, command: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    """What a command is to do once it is time to begin."""
    if "burst" in command:
        sets = list(zip(command["burst"], command["scalars"], strict=True))
        replays = [(None if "idle" in command else candidate.prepare(*each), each[0]) for each in sets]
        return partial(burst, candidate, replays)
    if "plain" in command:
        return partial(plain, candidate, command["plain"], command["scalars"])
    if "set" in command:
        return partial(timed, candidate, candidate.prepare(command["set"], command["scalars"]))
    if "warm" in command:
        return partial(timed, candidate, candidate.prepare(command["warm"], command["scalars"]), warm=True)
    return partial(timed, candidate, None)  # how long everything takes but the replay itself


def burst(candidate: Candidate, replays: list[tuple[int | None, int]]) -> dict[str, Any]:
    candidate.burst(replays)
    return {"code": 0}


def plain(candidate: Candidate, index: int, scalars: list[Any]) -> dict[str, Any]:
    candidate.plain(index, scalars)
    return {"code": 0}


def timed(candidate: Candidate, graph: int | None, *, warm: bool = False) -> dict[str, Any]:
    return {"code": 0, "nanoseconds": candidate.timed(graph, warm=warm)}


def main() -> None:
    commands = os.fdopen(0, "r")
    replies = os.fdopen(int(sys.argv[1]), "w", buffering=1)
    call = json.loads(commands.readline())
    cuda = DRIVER.Driver()
    cuda.use_device(0)
    try:
        candidate = Candidate(cuda, call)
        replies.write("{}\n")
        for line in commands:
            command = json.loads(line)
            if "load" in command:
                reply: dict[str, Any] = loaded(candidate, call)
            elif "prepare" in command:
                candidate.prepare(command["prepare"], command["scalars"])
                reply = {}
            else:
                begin = ready(candidate, command)
                replies.write("{}\n")
                os.read(0, LONGEST_LINE)
                reply = begin()
            replies.write(json.dumps(reply) + "\n")
    except Failed as failure:
        replies.write(json.dumps({"failed": failure.status, "error": str(failure)}) + "\n")


if __name__ == "__main__":
    main()
