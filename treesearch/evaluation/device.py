"""What this machine is, in the terms that a timing depends on."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

import torch

from treesearch.languages import Language
from treesearch.problem import memory
from treesearch.records import Device

TELLING = frozenset(
    "sse4_2 avx avx2 fma f16c avx512f avx512bw avx512vl avx512dq avx512_vnni avx512_bf16 avx512_fp16 amx_tile amx_bf16 "
    "asimd sve sve2 bf16 i8mm".split()
)
"""Instruction-set extensions that a kernel's author would want to know of."""


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


def software(language: Language, compiler: str) -> tuple[str, ...]:
    """Versions that a timing depends on."""
    asked = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False, timeout=30)
    first = asked.stdout.splitlines()[0] if asked.stdout else f"{language.name} compiler of unknown version"
    return (first, f"torch {torch.__version__}", f"Python {platform.python_version()}", f"Linux {platform.release()}")


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
