"""What this machine is, in the terms that a timing depends on."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from dataclasses import replace
from pathlib import Path

from treesearch.errors import MachineError
from treesearch.evaluation import cache
from treesearch.languages import Language
from treesearch.problem import memory
from treesearch.records import Device, digest

TELLING = frozenset(
    "sse4_2 avx avx2 fma f16c avx512f avx512bw avx512vl avx512dq avx512_vnni avx512_bf16 avx512_fp16 amx_tile amx_bf16 "
    "asimd sve sve2 bf16 i8mm".split()
)
"""Instruction-set extensions that a kernel's author would want to know of."""


def local(kind: str) -> Device:
    """This machine's device of a kind, `cpu` or `cuda`, a GPU with its measured figures.

    Its noise is there if it was measured before (`evaluation/noise.py`). Raises MachineError where there is none.
    """
    if kind == "cpu":
        return _with_noise(cpu())
    from treesearch.evaluation.cuda import device as gpu

    return _with_noise(gpu.described())


def keep_noise(hardware: Device) -> None:
    """Keep the noise that was measured on this machine's device for as long as its software stays the same."""
    kept = _noise_file(hardware)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(hardware.noise))


def _with_noise(hardware: Device) -> Device:
    try:
        return replace(hardware, noise=float(_noise_file(hardware).read_text()))
    except (OSError, ValueError, MachineError):  # never measured, or nowhere to keep it
        return hardware


def _noise_file(hardware: Device) -> Path:
    return cache.folder() / "devices" / f"noise-{digest(hardware.id, *hardware.software)[:16]}.json"


def has_gpu() -> bool:
    """Whether this machine has an NVIDIA GPU that its driver and torch can use."""
    import torch

    from treesearch.evaluation.cuda.driver import CudaError, Driver

    try:
        return Driver().count() > 0 and torch.cuda.is_available()
    except (OSError, CudaError):
        return False


def cpu() -> Device:
    """This machine's CPU, with the cores that this process may use."""
    info = _first_processor()
    flags = set(re.split(r"\s+", info.get("flags", "") + " " + info.get("Features", "")))
    return Device(
        kind="cpu",
        name=info.get("model name") or platform.processor() or platform.machine(),
        cores=cores(),
        memory_bytes=memory.total(),
        features=tuple(sorted(flags & TELLING)),
        caches=_caches(),
    )


def cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0))


def software(language: Language, compiler: str, hardware: Device) -> tuple[str, ...]:
    """Versions and settings that a timing depends on."""
    import torch  # here, so that whoever only reads an archive need not wait for it

    asked = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False, timeout=30)
    named = [line for line in asked.stdout.splitlines() if re.search(r"\d+\.\d+", line)]
    first = named[0] if named else f"{language.name} compiler of unknown version"
    system = (f"torch {torch.__version__}", f"Python {platform.python_version()}", f"Linux {platform.release()}")
    if hardware.kind != "cuda":
        return tuple(dict.fromkeys((first, *system)))  # the compiler of modules is Python
    tf32 = f"TF32: matmul {_on(torch.backends.cuda.matmul.allow_tf32)}, cuDNN {_on(torch.backends.cudnn.allow_tf32)}"
    return (first, *system, *(name for name in hardware.software if not name.startswith("torch")), tf32)


def _on(setting: bool) -> str:
    return "on" if setting else "off"


def _first_processor() -> dict[str, str]:
    block = _read(Path("/proc/cpuinfo")).split("\n\n", 1)[0]
    pairs = (line.partition(":") for line in block.splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, _, value in pairs}


def _caches() -> tuple[str, ...]:
    found = []
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        if _read(index / "type").strip() != "Instruction":
            found.append(f"L{_read(index / 'level').strip()} {_read(index / 'size').strip()}")
    return tuple(found)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
