"""What a captured launch enqueues: kernels of its own, and copies and fills within the device's memory.

Standard library only, for the worker loads it. It judges by what the driver says of each node, and so believes the
process that both are in: a candidate that changed its worker's memory could have any graph pass. What its library may
import was examined before, outside of that process.
"""

from __future__ import annotations

import ctypes
from typing import Any

KERNEL, MEMCPY, MEMSET, CHILD_GRAPH, EMPTY = 0, 1, 2, 4, 5
REFUSED = {
    3: "runs code on the host",
    6: "waits for an event",
    7: "records an event",
    8: "signals a semaphore",
    9: "waits for a semaphore",
    10: "allocates memory",
    11: "frees memory",
    12: "waits for or writes to memory on its own",
    13: "branches on contents in a conditional node",
}
"""What nodes do whose kinds a launch has no use for, by CUgraphNodeType."""
HOST, DEVICE, UNIFIED = 1, 2, 4
"""CUmemorytype; the remaining one, arrays, cannot be had without allocating."""
MEMORY_TYPE = 2
"""CU_POINTER_ATTRIBUTE_MEMORY_TYPE."""
FROM_HOST = "launch copies from or to memory of the host, which it must not"
DEEPEST = 8
MOST_LAUNCHES, LONGEST_NAME = 24, 2000
"""Of what is told of a graph's kernels: so many that differ, and names of so many characters; the rest is left out, so
that a reply stays within what its reader takes."""


class Refused(Exception):
    """A node that a launch must not enqueue. The text says what it does, for a person or a model."""


class KernelNode(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2."""

    _fields_ = (
        ("function", ctypes.c_void_p),
        ("shape", ctypes.c_uint * 7),
        ("parameters", ctypes.c_void_p),
        ("extra", ctypes.c_void_p),
        ("kernel", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
    )


class Side(ctypes.Structure):
    """Source or destination of CUDA_MEMCPY3D, up to what differs between them."""

    _fields_ = (
        ("place", ctypes.c_size_t * 4),
        ("kind", ctypes.c_int),
        ("host", ctypes.c_void_p),
        ("device", ctypes.c_uint64),
        ("array", ctypes.c_void_p),
        ("reserved", ctypes.c_void_p),
        ("pitch", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
    )


class CopyNode(ctypes.Structure):
    """CUDA_MEMCPY3D."""

    _fields_ = (("source", Side), ("destination", Side), ("extent", ctypes.c_size_t * 3))


class FillNode(ctypes.Structure):
    """CUDA_MEMSET_NODE_PARAMS."""

    _fields_ = (
        ("device", ctypes.c_uint64),
        ("pitch", ctypes.c_size_t),
        ("value", ctypes.c_uint),
        ("element", ctypes.c_uint),
        ("width", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
    )


class Nodes:
    """Examines graphs captured from one candidate.

    A kernel is the candidate's own if the library registers its name with the runtime, which it does for every kernel
    that it is compiled with, by a string of its own; and if all kernels lie in one module, for what is made of one
    source text has one. The first alone would let foreign code pass under a borrowed name, the second foreign code
    that is alone. Disassemblers could tell more, but not every toolkit brings one.
    """

    def __init__(self, cuda: Any, error: type[Exception], library: bytes) -> None:
        """`error` is what `cuda` raises; `library` is the file as it was before any of it ran."""
        self.cuda = cuda
        self.error = error
        self.library = library
        self.module = 0
        self.launches: dict[tuple[Any, ...], int] = {}
        """How often the graph that was checked last launches each kernel with each shape: mangled name, grid and block
        (x, y and z of each), bytes of dynamic shared memory."""

    def check(self, graph: int, depth: int = 0) -> int:
        """How many nodes the graph has, those of child graphs in their place. Raises Refused."""
        if depth == 0:
            self.launches = {}
        if depth > DEEPEST:
            raise Refused(f"launch nests graphs more than {DEEPEST} deep")
        return sum(self._check_node(node, depth) for node in self.nodes(graph))

    def nodes(self, graph: int) -> list[int]:
        count = ctypes.c_size_t()
        self.cuda.call("cuGraphGetNodes", graph, None, ctypes.byref(count))
        found = (ctypes.c_uint64 * count.value)()
        if count.value:
            self.cuda.call("cuGraphGetNodes", graph, found, ctypes.byref(count))
        return list(found)

    def _check_node(self, node: int, depth: int) -> int:
        """How many nodes it stands for."""
        kind = self._asked("cuGraphNodeGetType", node, ctypes.c_int()).value
        if kind == CHILD_GRAPH:
            child = self._asked("cuGraphChildGraphNodeGetGraph", node, ctypes.c_uint64())
            return self.check(child.value, depth + 1)
        if kind == KERNEL:
            launched = self._asked("cuGraphKernelNodeGetParams_v2", node, KernelNode())
            self._note(self._check_kernel(launched), launched)
        elif kind == MEMCPY:
            copy = self._asked("cuGraphMemcpyNodeGetParams", node, CopyNode())
            self._check_side(copy.source)
            self._check_side(copy.destination)
        elif kind == MEMSET:
            self._check_address(self._asked("cuGraphMemsetNodeGetParams", node, FillNode()).device)
        elif kind != EMPTY:
            raise Refused(f"launch {REFUSED.get(kind, f'enqueues a node of kind {kind}')}, which it must not")
        return 1

    def _check_kernel(self, node: KernelNode) -> str:
        """The kernel's mangled name; nothing where the driver does not tell it."""
        function = node.function or self._made("cuKernelGetFunction", node.kernel)
        try:
            name = self._made("cuFuncGetName", function, ctypes.c_char_p()) or b""
        except AttributeError:  # a driver before CUDA 12.3 does not tell names
            return ""
        module = self._made("cuFuncGetModule", function)
        self.module = self.module or module
        if module != self.module or name + b"\0" not in self.library:
            shown = name.decode(errors="replace")[:200]
            raise Refused(f"launch runs the kernel {shown}, which is not part of the library")
        return str(name.decode(errors="replace"))

    def _note(self, name: str, node: KernelNode) -> None:
        launch = (name, *node.shape)
        if len(name) <= LONGEST_NAME and (launch in self.launches or len(self.launches) < MOST_LAUNCHES):
            self.launches[launch] = self.launches.get(launch, 0) + 1

    def _check_side(self, side: Side) -> None:
        if side.kind == HOST:
            raise Refused(FROM_HOST)
        if side.kind in (DEVICE, UNIFIED):
            self._check_address(side.device)

    def _check_address(self, address: int) -> None:
        """What a node calls unified, or even device memory, may be the host's: the driver knows which."""
        place = ctypes.c_uint()
        try:
            self.cuda.call("cuPointerGetAttribute", ctypes.byref(place), MEMORY_TYPE, address)
        except self.error:  # memory that CUDA knows nothing of
            raise Refused(FROM_HOST) from None
        if place.value != DEVICE:
            raise Refused(FROM_HOST)

    def _asked(self, name: str, node: int, into: Any) -> Any:
        """What a function says of a node, in the place given."""
        self.cuda.call(name, node, ctypes.byref(into))
        return into

    def _made(self, name: str, subject: int, into: Any = None) -> Any:
        """What a function hands out for a subject: an address, where nothing else is said."""
        into = ctypes.c_uint64() if into is None else into
        self.cuda.call(name, ctypes.byref(into), subject)
        return into.value
