"""C++ with OpenMP on the CPU: the plain-C contract without a stream."""

from __future__ import annotations

import platform
import shutil
from functools import cache
from pathlib import Path

from treesearch.languages import x86
from treesearch.languages.imports import HOST
from treesearch.languages.language import Language

INTEGERS = {
    "uint8": "uint8_t",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "bool": "bool",
}
FLOATS = {"float16": "_Float16", "bfloat16": "bfloat16_t", "float32": "float", "float64": "double"}

PREAMBLE = """\
#include <stdint.h>
#include <string.h>

struct bfloat16_t { uint16_t bits; };

static inline float to_float(bfloat16_t value) {
    uint32_t bits = (uint32_t)value.bits << 16;
    float result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

static inline bfloat16_t from_float(float value) {  // round to nearest, ties to even; NaN stays NaN
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return bfloat16_t{(uint16_t)((bits >> 16) | 0x40)};
    return bfloat16_t{(uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16)};
}"""


def _compiler() -> str | None:
    return shutil.which("g++")


def _command(compiler: str, source: Path, output: Path, _architecture: str) -> list[str]:
    flags = ["-std=c++17", "-O3", "-march=native", "-fopenmp", "-fPIC", "-shared", "-Wall", "-fdiagnostics-color=never"]
    # The prototype is always seen, so that a wrong signature is a compile error and a missing symbol a link error.
    checks = ["-include", "problem.h", "-Wl,--no-undefined", "-Wl,--require-defined=launch"]
    return [compiler, *flags, *checks, f"-I{source.parent}", str(source), "-o", str(output)]


@cache
def _target() -> str:
    """The CPU that `-march=native` refers to."""
    wanted = ("vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU implementer", "CPU part")
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n\n", 1)[0].splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return "\n".join(line for line in lines if line.split("\t")[0].split(":")[0].strip() in wanted)


CPP = Language(
    name="cpp",
    title="C++17 with OpenMP",
    suffixes=(".cpp", ".cc", ".cxx"),
    fences=("cpp", "c++", "cc", "cxx", "c"),
    contract="_contract_cpp.md.j2",
    device_kinds=("cpu",),
    tensor_types={**INTEGERS, **FLOATS},
    scalar_types={"bool": "bool", "int64": "int64_t", "float64": "double"},
    preamble=PREAMBLE,
    trailing_parameters=(),
    compiler=_compiler,
    compiler_hint="install g++ (Debian, Ubuntu: apt-get install g++; Fedora: dnf install gcc-c++)",
    command=_command,
    target=_target,
    imports=HOST,
    disassembler=x86.OBJDUMP,
)
