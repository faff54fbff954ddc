"""CUDA C++ on an NVIDIA GPU: the plain-C contract with a stream, compiled by nvcc."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

from treesearch.errors import UsageError
from treesearch.languages import ptxas, sass, toolkit
from treesearch.languages.cpp import INTEGERS
from treesearch.languages.imports import HOST_AND_RUNTIME
from treesearch.languages.language import Language

ARCHITECTURE = "sm_90a"
"""What kernels are compiled for where no device says otherwise."""

FLOATS = {"float16": "__half", "bfloat16": "__nv_bfloat16", "float32": "float", "float64": "double"}

PREAMBLE = """\
#include <cuda_runtime.h>
#include <stdint.h>"""


def _compiler() -> str | None:
    return toolkit.find("nvcc")


def _command(compiler: str, source: Path, output: Path, architecture: str) -> list[str]:
    # The -gencode form: -arch=sm_90a also compiles for plain sm_90 with some releases, which rejects wgmma.
    target = f"-gencode=arch={_virtual(architecture)},code={architecture or ARCHITECTURE}"
    # One source has nothing to link with on the device; that step, and disassembling what it adds, takes a second.
    flags = ["-std=c++17", "-O3", target, "-Xcompiler", "-fPIC", "-shared", "-nodlink", *_runtime(compiler)]
    said = ["-Xptxas", "-v", "-Xcompiler", "-fdiagnostics-color=never"]
    # The prototype is always seen, so that a wrong signature is a compile error and a missing symbol a link error.
    checks = ["-include", "problem.h", "-Xlinker", "--no-undefined", "-Xlinker", "--require-defined=launch"]
    return [compiler, *flags, *said, *checks, f"-I{source.parent}", str(source), "-o", str(output)]


def _virtual(architecture: str) -> str:
    """`compute_90a` of `sm_90a`."""
    if not re.fullmatch(r"sm_\d+[af]?", architecture or ARCHITECTURE):
        raise UsageError(f"{architecture!r} is no GPU architecture; it looks like sm_90a.")
    return (architecture or ARCHITECTURE).replace("sm_", "compute_")


def _runtime(compiler: str) -> list[str]:
    """Flags that link the shared runtime. The static one would make an honest object import dlopen, socket and kill.

    NVIDIA's Python packages bring the runtime under its versioned name only, which `-cudart shared` does not find.
    """
    beside = Path(compiler).parent.parent / "lib"
    packaged = sorted(beside.glob("libcudart.so.*"))
    if packaged and not (beside / "libcudart.so").exists():
        return ["-cudart", "none", "-Xlinker", str(packaged[-1])]
    return ["-cudart", "shared"]


def _target() -> str:
    """The toolkit's release: what is called nvcc may be a wrapper that stays the same when the toolkit changes."""
    compiler = _compiler()
    return _release(compiler) if compiler else ""


@cache
def _release(compiler: str) -> str:
    try:
        asked = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip()


CUDA = Language(
    name="cuda",
    title="CUDA C++17",
    suffixes=(".cu",),
    fences=("cuda", "cu", "cpp", "c++", "cc", "cxx", "c"),
    contract="_contract_cuda.md.j2",
    device_kinds=("cuda",),
    tensor_types={**INTEGERS, **FLOATS},
    scalar_types={"bool": "bool", "int64": "int64_t", "float64": "double"},
    preamble=PREAMBLE,
    architecture=ARCHITECTURE,
    includes={"float16": "#include <cuda_fp16.h>", "bfloat16": "#include <cuda_bf16.h>"},
    trailing_parameters=("cudaStream_t stream",),
    compiler=_compiler,
    compiler_hint="install g++ and the CUDA toolkit, or only its compiler: pip install 'treesearch[cuda]'",
    command=_command,
    target=_target,
    imports=HOST_AND_RUNTIME,
    disassembler=sass.CUOBJDUMP,
    resources=ptxas.resources,
    readable=ptxas.readable,
)
