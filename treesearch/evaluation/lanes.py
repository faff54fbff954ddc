"""What differs between kinds of devices when candidates are judged on them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from treesearch.errors import MachineError
from treesearch.evaluation import cache, clock, device
from treesearch.evaluation.buffers import HostTensor, SharedTensor
from treesearch.evaluation.conditions import Graphics, Processor, Sampler
from treesearch.evaluation.open import manners, places, start
from treesearch.evaluation.sandbox import Limits
from treesearch.evaluation.sanitized import UNINSPECTED, Sanitized
from treesearch.evaluation.walls import Walls, readable
from treesearch.feedback import Metric
from treesearch.problem import memory
from treesearch.records import Device, Problem, Protocol

MEMORY_SHARE = 0.75
"""Share of the machine's memory that a candidate may map."""
FILE_BYTES = 16 << 20
STORE_BANDWIDTH = 3.7e11
"""Bytes a second that no core, nor multiprocessor, can move to or from its caches: 64 bytes a cycle at 5.7 GHz, 128 at
2.8 GHz."""
BEST_BANDWIDTH = 1.2
"""No store runs faster than this many times the measured bandwidth of a copy."""
PROFILE_SECONDS = 30.0
BUFFER_SETS = 2
"""Sets of buffers that calls rotate over, so that neither contents nor addresses alone identify a call."""
MOST_SETS, MOST_DESCRIPTORS = 16, 512
MORE_ON_DEVICE = 2 << 30
"""Bytes of buffers for bursts on a GPU, where every launch finds its cache cold."""
MORE_ON_HOST = 64 << 20
"""The same on a CPU, where more would not be found in caches that single launches find warm."""
FLUSH_FACTOR = 5
"""Bytes written to flush an L2 cache, in its own size."""
PLAIN = "plainly"
"""Manner of a call that is not a replay of a captured launch."""
SPINS = 20_000
"""How long an idle OpenMP thread spins before it sleeps: well under a millisecond, so that the threads of a process
that was just timed are asleep when the next one is. libgomp's default spins for several milliseconds."""


@dataclass(frozen=True)
class Lane:
    """How candidates run on one device of this machine."""

    device: str
    """torch's name of it, for what the controller itself computes."""
    lock: str
    """Held by one timing at a time."""
    tensors: type[SharedTensor]
    program: tuple[str, ...]
    """The command of a candidate's worker."""
    limits: Limits
    more_bytes: int
    """Memory for sets of buffers beside those that calls rotate over: a launch of a burst has one of its own."""
    settle_seconds: float
    """Pause before each timed call, in which another process's idle OpenMP threads stop spinning."""
    variables: Callable[[Protocol], dict[str, str]]
    """Environment of workers."""
    with_torch: Callable[[Protocol], dict[str, str]]
    """Environment of what runs torch: baselines, and modules."""
    conditions: Callable[[], Sampler]
    """What looks at the machine while one candidate is timed."""
    walls: Callable[[Path], Walls] = lambda library: Walls(readable(library))
    """What a worker may reach, given the built candidate."""
    prepare: Callable[[Path], None] = lambda library: None
    """What has to be done before each judgement of a built candidate."""
    start: dict[str, Any] = field(default_factory=dict)
    """What a worker needs to know beside the call."""
    quickest: Callable[[int], float] = lambda nbytes: 0.0
    """Milliseconds that storing so many bytes takes at the very best."""
    inspect: Callable[[Path, Problem, float, bool], Sanitized] = lambda *about: UNINSPECTED
    """What a sanitizer says of a built kernel that is to be promoted, in so many seconds, races looked for or not."""
    profile: Callable[[Path, Problem], tuple[Metric, ...]] = lambda library, problem: ()
    """What a profiler reads of a built kernel that is to be promoted."""
    manners: tuple[str, ...] = ()
    """In which manners other than the timed one a checked call is made once more each, as users make it."""
    join: Callable[[], None] = lambda: None
    """Wait until the controller's own work on the device is done."""
    uncertain: float = clock.ROW_MS
    """Milliseconds by which launches in a row may be mistaken for longer than they are, all together."""
    code_is_known: bool = False
    """Whether all code in a worker is known beforehand: its own, the candidate's, and that of libraries it names."""
    answers_first: int = 0
    """On how many sets of buffers a candidate has answered once it is loaded."""
    one_model: bool = False
    """Whether launches in a row have parameters and buffers in common."""
    trim: Callable[[], None] = lambda: None
    """Give back memory that the controller holds without using it, and files that it keeps."""

    def more_sets(self, problem: Problem) -> int:
        """How many sets of buffers there are for bursts alone."""
        room = self.more_bytes // (problem.bytes_read + problem.bytes_written)
        return min(MOST_SETS, MOST_DESCRIPTORS // len(problem.signature.arguments), room)


def thread_variables(threads: int) -> dict[str, str]:
    """Environment that gives a baseline and a candidate the same threads and the same allocation policy.

    Threads are bound to cores: a thread that wakes on its waker's core stays there until the scheduler's next tick,
    which adds a millisecond or more to some calls and not to others. And malloc neither maps nor returns memory, so
    that torch's outputs reuse warm pages, as a kernel's preallocated ones do.
    """
    return {
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "OMP_PROC_BIND": "true",
        "GOMP_SPINCOUNT": str(SPINS),
        "MALLOC_MMAP_MAX_": "0",
        "MALLOC_TRIM_THRESHOLD_": str(1 << 62),
        "MALLOC_TOP_PAD_": str(64 << 20),
    }


def of(hardware: Device, compiler: str = "") -> Lane:
    """The lane of a device. `compiler` is what the compiler says of itself, where kernels are to be run.

    Raises MachineError unless the device is this machine's, ToolchainError for a compiler that does not fit torch.
    """
    here = device.local(hardware.kind)
    if here.id != hardware.id:
        raise MachineError(f"This machine has {here.name}, not {hardware.name}; evaluate there with `treesearch work`.")
    return _cuda(hardware, compiler) if hardware.kind == "cuda" else _cpu()


def _cpu() -> Lane:
    worker = Path(__file__).with_name("worker.py")

    def on_cpu(protocol: Protocol) -> dict[str, str]:
        return {**thread_variables(protocol.threads), "CUDA_VISIBLE_DEVICES": ""}

    return Lane(
        device="cpu",
        lock=cache.MACHINE,
        tensors=HostTensor,
        program=_sealed(worker),
        limits=Limits(memory=int(MEMORY_SHARE * memory.total()), file=FILE_BYTES),
        more_bytes=MORE_ON_HOST,
        settle_seconds=0.003,
        variables=on_cpu,
        with_torch=on_cpu,
        conditions=Processor,
        walls=lambda library: Walls(readable(worker, library)),
        code_is_known=True,  # a GPU's driver loads what it needs when it needs it
        quickest=lambda nbytes: 1e3 * nbytes / (device.cores() * STORE_BANDWIDTH),
    )


def _cuda(hardware: Device, compiler: str) -> Lane:
    from treesearch.evaluation.cuda import device as gpu
    from treesearch.evaluation.cuda import ncu, sanitizer
    from treesearch.evaluation.cuda.buffers import DeviceTensor
    from treesearch.evaluation.cuda.contents import Contents

    gpu.require_toolkit(compiler)
    worker = Path(__file__).parent / "cuda" / "worker.py"
    l2 = gpu.l2_bytes()
    contents = Contents()

    def quickest(nbytes: int) -> float:
        within = 1e3 * nbytes / (hardware.cores * STORE_BANDWIDTH)
        if not hardware.bandwidth:
            return within
        return max(within, 1e3 * (nbytes - l2) / (BEST_BANDWIDTH * hardware.bandwidth))

    def trim() -> None:
        contents.close()
        gpu.trim()

    return Lane(
        device="cuda",
        lock=gpu.lock(),
        tensors=DeviceTensor,
        program=_sealed(worker),
        # CUDA reserves more addresses than any limit on them allows.
        limits=Limits(data=int(MEMORY_SHARE * memory.total()), file=FILE_BYTES),
        more_bytes=MORE_ON_DEVICE,
        settle_seconds=0.0,
        variables=lambda protocol: gpu.variables(),
        with_torch=lambda protocol: gpu.with_torch(),
        conditions=lambda: Graphics(gpu.sensors()),
        walls=lambda library: Walls(readable(worker.parent, Path(gpu.cudart()), library), gpu=True),
        start={"cudart": gpu.cudart(), "flush_bytes": FLUSH_FACTOR * l2},
        quickest=quickest,
        inspect=lambda library, problem, seconds, races: sanitizer.sanitize(
            library, problem, gpu.cudart(), contents, seconds, races=races
        ),
        profile=ncu.Profiler(gpu.cudart(), contents, PROFILE_SECONDS),
        manners=(PLAIN,) * 4,
        uncertain=clock.GPU_ROW_MS,
        join=gpu.join,
        trim=trim,
    )


def opened(lane: Lane, problem: Problem, hardware: Device) -> Lane:
    """The lane for candidates of the same device that are Python modules (`evaluation/open/`).

    They are constructed with what the problem's `get_init_inputs()` returns, and get nothing else of it.
    """
    added = places.variables(hardware.architecture)
    return replace(
        lane,
        program=(sys.executable, "-s", "-B", "-P", str(Path(__file__).parent / "open" / "main.py")),
        variables=lambda protocol: {**lane.with_torch(protocol), **added},
        start={**lane.start, **start.told(problem, lane.device), "models": BUFFER_SETS},
        walls=lambda library: places.walls(library.parent, gpu=lane.device == "cuda", judged=True),
        prepare=places.restore,
        manners=manners.ALL,
        uncertain=clock.ROW_MS,
        code_is_known=False,
        answers_first=BUFFER_SETS,
        one_model=True,  # constructing more may take seconds
        more_bytes=lane.more_bytes if lane.device == "cpu" else 0,  # each set would take captured graphs of its own
        inspect=lambda *about: UNINSPECTED,
        profile=lambda library, problem: (),
    )


def _sealed(program: Path) -> tuple[str, ...]:
    """The bare interpreter, not that of an environment: a worker has no use for packages, nor has a candidate."""
    return (os.path.realpath(sys.executable), "-I", "-S", str(program))


def worker_command(lane: Lane) -> list[str]:
    return list(lane.program)
