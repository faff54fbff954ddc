"""A process that runs a CUDA kernel once, under a tool that watches its accesses to memory.

What runs is what a worker times: a replay of the graph into which the second call of `launch` was captured. A kernel
that enqueues something else when it is called for the first time is not watched doing that.

Runs as a script in an interpreter without site packages: `python once.py FOLDER`, where the folder holds `call.json`,
which names files with the contents of inputs and parameters. Every tensor is an allocation of its own of exactly its
size, so that what lies beyond is nobody's; outputs and scratch are left as they come, so that reading them before they
are written shows.
Exits with 0 once `launch` was called, whatever came of it: tools only then give an exit code of their own.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

SCALARS: dict[str, Any] = {"bool": ctypes.c_bool, "int64": ctypes.c_int64, "float64": ctypes.c_double}


def load_driver() -> Any:
    spec = importlib.util.spec_from_file_location("driver", Path(__file__).with_name("driver.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def allocated(cuda: Any, size: int, content: Path | None) -> int:
    """Address of so many bytes, with what the file holds or as they come."""
    address = int(cuda.handle("cuMemAlloc_v2", size))
    if content is not None:
        data = content.read_bytes()
        cuda.call("cuMemcpyHtoD_v2", address, ctypes.c_char_p(data), size)
    return address


def scratch(cuda: Any, library: ctypes.CDLL) -> int:
    try:
        ask = library.scratch_bytes
    except AttributeError:
        return 0
    ask.restype = ctypes.c_int64
    size = int(ask())
    return allocated(cuda, size, None) if size > 0 else 0


def main() -> None:
    folder = Path(sys.argv[1])
    call = json.loads((folder / "call.json").read_text())
    driver = load_driver()
    cuda = driver.Driver()
    cuda.use_device(0)
    arguments: list[Any] = []
    for argument in call["arguments"]:
        if argument["kind"] in SCALARS:
            arguments.append(SCALARS[argument["kind"]](argument["value"]))
        else:
            content = Path(argument["content"]) if argument["content"] else None
            arguments.append(ctypes.c_void_p(allocated(cuda, argument["bytes"], content)))
    stream = cuda.handle("cuStreamCreate", 0)
    ctypes.CDLL(call["cudart"], mode=os.RTLD_NOW | os.RTLD_GLOBAL)
    library = ctypes.CDLL(call["library"], mode=os.RTLD_NOW | os.RTLD_LOCAL)
    arguments += [ctypes.c_void_p(scratch(cuda, library)), ctypes.c_void_p(stream)]
    with contextlib.suppress(driver.CudaError):  # of which the tool has more to say
        captured(cuda, driver, library, arguments, stream)  # as in a worker, the second call is the one that is kept
        graph = captured(cuda, driver, library, arguments, stream)
        made = cuda.handle("cuGraphInstantiateWithFlags", graph, 0)
        cuda.call("cuGraphLaunch", made, stream)
        cuda.call("cuCtxSynchronize")


def captured(cuda: Any, driver: Any, library: ctypes.CDLL, arguments: list[Any], stream: int) -> int:
    """The graph of what one call of `launch` enqueues; none of it runs."""
    cuda.call("cuStreamBeginCapture_v2", stream, driver.CAPTURE_GLOBAL)
    library.launch(*arguments)
    graph = ctypes.c_uint64()
    cuda.call("cuStreamEndCapture", stream, ctypes.byref(graph))
    return graph.value


if __name__ == "__main__":
    main()
