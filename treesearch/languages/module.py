"""A PyTorch module in Python, KernelBench's own form: `class ModelNew`, whatever it is made of."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from treesearch.languages.cpp import CPP
from treesearch.languages.cuda import CUDA
from treesearch.languages.language import Entry, Language

CLASS = "ModelNew"
_DEFINITION = rf"^class\s+{CLASS}\b"


def _command(compiler: str, source: Path, _output: Path, _architecture: str) -> list[str]:
    """Imports the file in the folder that holds it, so that what it compiles on import is compiled."""
    return [compiler, "-s", "-B", "-c", f"from {source.stem} import {CLASS}"]


def _target() -> str:
    """The compilers that a module may call, and the CPU that they may compile for."""
    compilers = (CPP.compiler(), CUDA.compiler())
    return "\n".join([CPP.target(), CUDA.target(), *(_version(one) for one in compilers if one)])


@cache
def _version(compiler: str) -> str:
    stat = os.stat(compiler)
    try:
        asked = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return f"{compiler} {stat.st_size} {stat.st_mtime_ns}"
    return asked.stdout.strip()


MODULE = Language(
    name="module",
    title="PyTorch (a Python module)",
    suffixes=(".py",),
    fences=("python", "py", "python3"),
    contract="_contract_module.md.j2",
    device_kinds=("cuda", "cpu"),
    tensor_types={},
    scalar_types={},
    preamble="",
    trailing_parameters=(),
    compiler=lambda: sys.executable,
    compiler_hint="it is the Python that runs treesearch",
    command=_command,
    target=_target,
    sealed=False,
    entry=Entry(f"a class {CLASS}", _DEFINITION, _DEFINITION),
    architecture=CUDA.architecture,
)
