"""What the GPU is, measured once and kept in the cache."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import cache as once
from pathlib import Path

import torch

from treesearch.errors import MachineError, ToolchainError
from treesearch.evaluation import cache
from treesearch.evaluation.cuda.driver import CudaError, Driver
from treesearch.evaluation.cuda.nvml import Gpu
from treesearch.records import Device, Rate, codec, digest

WHICH_GPU = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")
"""What a user sets to choose among several GPUs; every process has to choose the same."""
COPY_BYTES = 1 << 30
RUNS = 10
FP32_SIZE, SIZE = 4096, 8192
"""Sizes of the square matrices that rates are measured on; 4096 for those precisions that tensor cores do not serve."""


def described() -> Device:
    """This machine's GPU. Raises MachineError where there is none that torch and the driver can use."""
    known = _identity()
    kept = cache.folder() / "devices" / f"{digest(known, _software())[:16]}.json"
    try:
        return codec.decode(Device, json.loads(kept.read_text()))
    except (OSError, ValueError):  # not there, or of another version
        pass
    with cache.timing(lock()):
        made = _measured(known)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(codec.encode(made)))
    return made


@once
def lock() -> str:
    """Name of the lock that one timing on this GPU holds at a time."""
    return f"gpu-{_driver().uuid(0)}"


@once
def sensors() -> Gpu | None:
    """The GPU's clocks and temperature; None where the driver brought no NVML."""
    driver = _driver()
    return Gpu.find(driver.uuid(0), driver.bus(0))


@once
def l2_bytes() -> int:
    return _driver().attributes(0)["l2_bytes"]


def join() -> None:
    """Wait for what this process has the GPU do."""
    torch.cuda.synchronize()


def variables() -> dict[str, str]:
    """Environment of processes that use the GPU: modules are loaded at once, nothing is cached on disk."""
    chosen = {name: os.environ[name] for name in WHICH_GPU if name in os.environ}
    return {**chosen, "CUDA_MODULE_LOADING": "EAGER", "CUDA_CACHE_DISABLE": "1"}


def with_torch() -> dict[str, str]:
    """The same for what runs torch, most of whose modules nobody needs, and which looks for GPUs when it is imported:
    in a way that leaves a fork free to use them."""
    return {**variables(), "CUDA_MODULE_LOADING": "LAZY", "PYTORCH_NVML_BASED_CUDA_CHECK": "1"}


def trim() -> None:
    """Give back what torch holds in this process without using it: workers need memory as well."""
    torch.cuda.empty_cache()


def require_toolkit(compiler: str) -> None:
    """Raise ToolchainError unless the compiler (as it describes itself) and torch are of one CUDA version.

    Kernels are linked against the compiler's runtime, and the worker loads the one that torch brought.
    """
    release = re.search(r"release (\d+)", compiler)
    brought = str(torch.version.cuda).partition(".")[0]
    if release and release[1] != brought:
        raise ToolchainError(
            f"nvcc is of CUDA {release[1]} and torch of CUDA {brought}; kernels could not be loaded. "
            "Put an nvcc of torch's version on PATH, or install a torch of nvcc's."
        )


@once
def cudart() -> str:
    """Path of the CUDA runtime that torch uses, for kernels to use as well."""
    torch.cuda.synchronize()  # loads it
    for line in Path("/proc/self/maps").read_text().splitlines():
        if "/libcudart.so" in line:
            return line[line.index("/") :]
    raise MachineError("torch has loaded no shared CUDA runtime (libcudart); install a build of torch that has one.")


def _driver() -> Driver:
    try:
        return Driver()
    except (OSError, CudaError) as error:
        raise MachineError(f"There is no GPU that CUDA can use on this machine: {error}.") from error


@once
def _identity() -> Device:
    """What the driver says, without any measurement."""
    driver = _driver()
    if not torch.cuda.is_available():
        raise MachineError("torch cannot use this machine's GPU; install a build of torch with CUDA.")
    found = driver.attributes(0)
    major, minor = found["major"], found["minor"]
    return Device(
        kind="cuda",
        name=driver.name(0),
        cores=found["multiprocessors"],
        memory_bytes=driver.memory_bytes(0),
        caches=(f"L2 {found['l2_bytes'] >> 20} MiB",),
        # From Hopper on, the instructions of one architecture alone (wgmma, setmaxnreg) need the suffix.
        architecture=f"sm_{major}{minor}{'a' if major >= 9 else ''}",
        clock_mhz=found["clock_khz"] // 1000,
        memory_clock_mhz=found["memory_clock_khz"] // 1000,
        shared_memory_bytes=found["shared_memory_bytes"],
    )


@once
def _software() -> tuple[str, ...]:
    return (f"driver {_driver_version()}", f"CUDA {torch.version.cuda}", f"torch {torch.__version__}")


def _driver_version() -> str:
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        asked = subprocess.run(query, capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return "of unknown version"
    return next(iter(asked.stdout.split()), "of unknown version")


def _measured(known: Device) -> Device:
    rates = [Rate(name, flops) for name, measure in _RATES.items() if (flops := _or_nothing(measure))]
    measured = replace(known, bandwidth=_bandwidth(), rates=tuple(rates), software=_software())
    torch.cuda.empty_cache()
    return measured


def _bandwidth() -> float:
    """Bytes a second of a copy, read and written both counted."""
    source = torch.empty(COPY_BYTES, dtype=torch.uint8, device="cuda").random_()
    target = torch.empty_like(source)
    return 2 * COPY_BYTES / _seconds(lambda: target.copy_(source))


def _matmul(dtype: torch.dtype, size: int) -> float:
    left, right = (torch.randn(size, size, device="cuda").to(dtype) for _ in range(2))
    return 2 * size**3 / _seconds(lambda: left @ right)


def _tf32() -> float:
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        return _matmul(torch.float32, SIZE)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def _float8() -> float:
    left, right = (torch.randn(SIZE, SIZE, device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
    one = torch.ones((), device="cuda")
    run = lambda: torch._scaled_mm(left, right.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)  # noqa: E731
    return 2 * SIZE**3 / _seconds(run)


_RATES: dict[str, Callable[[], float]] = {
    "float64": lambda: _matmul(torch.float64, FP32_SIZE),
    "float32": lambda: _matmul(torch.float32, FP32_SIZE),
    "tf32": _tf32,
    "bfloat16": lambda: _matmul(torch.bfloat16, SIZE),
    "float16": lambda: _matmul(torch.float16, SIZE),
    "float8": _float8,
}


def _or_nothing(measure: Callable[[], float]) -> float | None:
    """The measurement, or None where this GPU or this torch does not have that precision."""
    try:
        return measure()
    except (RuntimeError, AttributeError):
        return None


def _seconds(call: Callable[[], object]) -> float:
    """Median time of a call on the GPU."""
    for _ in range(3):
        call()
    return statistics.median(elapsed(call) / 1e3 for _ in range(RUNS))


def elapsed(call: Callable[[], object]) -> float:
    """Milliseconds that what a call enqueues takes on the GPU, by its events."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    start.record()
    call()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end))
