"""CUDA: nvcc wherever it is, the architecture it compiles for, and what it says about a kernel."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from treesearch import languages
from treesearch.errors import UsageError
from treesearch.languages import CPP, CUDA, symbols
from treesearch.languages.cpp import INTEGERS
from treesearch.languages.cuda import FLOATS
from treesearch.records import Argument, Problem, Resources, Role, Signature

LOG = """\
kernel.cu(6): warning #177-D: variable "unused" was declared but never referenced

Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"

ptxas warning : For entry spilling adjusting per thread register count of 16 to lower bound of 24
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized in function 'plain'
ptxas info    : 0 bytes gmem, 8 bytes cmem[4]
ptxas info    : Compiling entry function 'spilling' for 'sm_90a'
ptxas info    : Function properties for spilling
    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 24 registers, used 1 barriers, 16 bytes cumulative stack size
ptxas info    : Compile time = 21.605 ms
ptxas info    : Compiling entry function 'plain' for 'sm_90a'
ptxas info    : Function properties for helper
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for plain
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 17 registers, used 1 barriers, 512 bytes smem, 384 bytes cmem[0]
ptxas info    : Compile time = 4.234 ms
"""
COPY = """
#include "problem.h"
namespace {
template <int COUNT> __global__ void copy(const float* x, float* out) {
    __shared__ float tile[COUNT];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[COUNT - 1 - threadIdx.x];
}
}
extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    copy<x_numel><<<1, x_numel, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
"""


def problem_with(*arguments: Argument) -> Problem:
    return Problem("handmade", "", Signature(arguments))


SMALL = problem_with(Argument("x", Role.INPUT, "float32", (64,)), Argument("out", Role.OUTPUT, "float32", (64,)))


def nvcc(
    folder: Path, source: str, problem: Problem = SMALL, architecture: str = "sm_90a"
) -> subprocess.CompletedProcess[str]:
    """Build a source the way kernels are built, into kernel.so."""
    compiler = CUDA.compiler()
    assert compiler is not None
    (folder / "problem.h").write_text(CUDA.header(problem))
    (folder / "kernel.cu").write_text(source)
    command = CUDA.command(compiler, Path("kernel.cu"), Path("kernel.so"), architecture)
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, cwd=folder)


# ── what nvcc makes of a source ─────────────────────────────────────────────────────────────────


@pytest.mark.nvcc
def test_a_kernel_is_built_against_the_shared_runtime_and_its_resources_are_read(tmp_path: Path) -> None:
    done = nvcc(tmp_path, COPY)
    assert done.returncode == 0, done.stdout
    assert CUDA.readable(done.stdout) == ""
    (taken,) = CUDA.resources(done.stdout)
    assert taken.function.endswith("copy<64>")
    assert 0 < taken.registers < 64
    assert (taken.spill_store_bytes, taken.spill_load_bytes, taken.stack_bytes, taken.shared_bytes) == (0, 0, 0, 256)
    needed = subprocess.run(["readelf", "-d", "kernel.so"], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert re.search(r"NEEDED.*libcudart\.so", needed.stdout)
    assert str(tmp_path).encode() not in (tmp_path / "kernel.so").read_bytes()


@pytest.mark.nvcc
def test_the_compiler_of_the_package_finds_the_runtime_beside_it(tmp_path: Path) -> None:
    """The packages bring only libcudart.so.13; a toolkit's own compiler stands in for theirs."""
    real = CUDA.compiler()
    assert real is not None
    runtimes = [
        found
        for place in ("lib64", "lib")
        for found in (Path(real).resolve().parent.parent / place).glob("libcudart.so.*")
    ] or list(Path("/usr/local/cuda/lib64").glob("libcudart.so.*"))
    if not runtimes:
        pytest.skip("the toolkit's libcudart was not found")
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "bin" / "nvcc").write_text(f'#!/bin/sh\nexec {real} "$@"\n')
    (tmp_path / "bin" / "nvcc").chmod(0o755)
    (tmp_path / "lib" / "libcudart.so.13").symlink_to(runtimes[0])
    (tmp_path / "problem.h").write_text(CUDA.header(SMALL))
    (tmp_path / "kernel.cu").write_text(COPY)
    command = CUDA.command(str(tmp_path / "bin" / "nvcc"), Path("kernel.cu"), Path("kernel.so"), "sm_90a")
    assert "shared" not in command
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"libcudart.so" in (tmp_path / "kernel.so").read_bytes()


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("source", "says"),
    [
        pytest.param("void* other;", "required symbol .launch. not defined", id="no launch"),
        pytest.param(
            COPY.replace("float* out, void*", "double* out, void*"), r'kernel\.cu\(11\).*"C" linkage', id="type"
        ),
        pytest.param(
            COPY.replace("return", "other(); return") + "void other();", r"kernel\.cu\(13\).*other", id="undeclared"
        ),
        pytest.param(
            "void other();" + COPY.replace("return", "other(); return"), "undefined reference to .other", id="undefined"
        ),
        pytest.param(COPY.replace("__syncthreads();", 'asm("foo.bar;");'), "ptxas kernel.ptx, line .*foo", id="ptx"),
        pytest.param(
            "extern __device__ void other();" + COPY.replace("__syncthreads();", "other();"),
            "ptxas fatal.*Unresolved extern function 'other'",
            id="undefined on the device",
        ),
    ],
)
def test_what_breaks_the_contract_does_not_build_and_says_where(tmp_path: Path, source: str, says: str) -> None:
    done = nvcc(tmp_path, source)
    assert done.returncode != 0
    assert re.search(says, CUDA.readable(done.stdout)), done.stdout
    assert "tmpxft_" not in CUDA.readable(done.stdout)
    assert "\x1b" not in done.stdout


@pytest.mark.nvcc
def test_instructions_of_the_target_architecture_alone_are_accepted(tmp_path: Path) -> None:
    hopper = COPY.replace("__syncthreads();", 'asm volatile("wgmma.fence.sync.aligned;"); __syncthreads();')
    assert nvcc(tmp_path, hopper, architecture="sm_90a").returncode == 0
    other = nvcc(tmp_path, hopper, architecture="sm_80")
    assert other.returncode != 0
    assert "wgmma.fence" in other.stdout


@pytest.mark.nvcc
def test_every_element_type_and_names_of_cuda_are_accepted_as_arguments(tmp_path: Path) -> None:
    names = ("half", "float4", "dim3", "threadIdx", "warpSize", "min", "sqrtf", "cudaMalloc")
    types = [*INTEGERS, *FLOATS]
    arguments = [Argument(f"x{dtype}", Role.INPUT, dtype, (2, 3)) for dtype in types]
    arguments += [Argument(name, Role.INPUT, "float32", (4,)) for name in names]
    arguments += [Argument(f"by_{dtype}", Role.SCALAR, dtype, ()) for dtype in CUDA.scalar_types]
    problem = problem_with(*arguments)
    body = f"{CUDA.prototype(problem).rstrip(';')} {{ return (int)(sizeof(*xbfloat16) + sizeof(*xfloat16) - 4); }}\n"
    done = nvcc(tmp_path, body, problem)
    assert done.returncode == 0, done.stdout


# ── what the log says ───────────────────────────────────────────────────────────────────────────


def test_resources_are_read_for_each_kernel_function() -> None:
    assert CUDA.resources(LOG) == (Resources("spilling", 24, 12, 20, 16, 0), Resources("plain", 17, 0, 0, 0, 512))
    assert CUDA.resources("kernel.cu(3): error: no\n") == CPP.resources(LOG) == ()


def test_warnings_stay_when_the_report_goes() -> None:
    left = [line for line in CUDA.readable(LOG).splitlines() if line]
    assert [line.split(":")[0].strip() for line in left] == ["kernel.cu(6)", "ptxas warning", "ptxas info"]
    assert "(C7510) Potential Performance Loss" in left[-1]
    assert CPP.readable(LOG) == LOG


def test_long_names_stay_whole_where_nothing_can_demangle_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "_Z" + "".join(f"{len(word)}{word}" for word in ("tile" * 100,)) + "Pf"
    symbols.demangled.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert CUDA.resources(LOG.replace("plain", name))[1].function == name
    symbols.demangled.cache_clear()


# ── where nvcc is, and for what it compiles ─────────────────────────────────────────────────────


def test_nvcc_is_found_on_the_path_then_in_the_toolkit_then_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def place(path: Path) -> str:
        path.parent.mkdir(parents=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        return str(path)

    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path / "site"))
    packaged = place(tmp_path / "site" / "nvidia" / "cu13" / "bin" / "nvcc")
    if not os.access("/usr/local/cuda/bin/nvcc", os.X_OK):
        assert CUDA.compiler() == packaged
    in_toolkit = place(tmp_path / "toolkit" / "bin" / "nvcc")
    assert CUDA.compiler() == in_toolkit
    on_path = place(tmp_path / "path" / "nvcc")
    assert CUDA.compiler() == on_path


def test_the_architecture_is_that_of_the_device_or_else_hoppers() -> None:
    def flags(architecture: str) -> list[str]:
        return CUDA.command("nvcc", Path("kernel.cu"), Path("kernel.so"), architecture)

    assert "-gencode=arch=compute_90a,code=sm_90a" in flags("")
    assert "-gencode=arch=compute_100,code=sm_100" in flags("sm_100")
    assert not [flag for flag in flags("sm_100") if "fast" in flag or "90" in flag]
    with pytest.raises(UsageError, match="'hopper' is no GPU architecture"):
        flags("hopper")


def test_the_header_includes_what_its_types_need() -> None:
    half = problem_with(Argument("x", Role.INPUT, "float16", (2,)), Argument("out", Role.OUTPUT, "float32", (2,)))
    assert "#include <cuda_fp16.h>\n" in CUDA.header(half)
    assert "cuda_bf16" not in CUDA.header(half)
    assert 'extern "C" int launch(const __half* x, float* out, void* scratch, cudaStream_t stream);' in CUDA.header(
        half
    )


def test_cuda_is_found_by_name_by_suffix_and_by_device() -> None:
    assert languages.named("cuda") is languages.of_file(Path("a/kernel.cu")) is languages.for_device("cuda") is CUDA
    assert languages.for_device("cpu") is CPP
    with pytest.raises(UsageError, match="No kernel language runs on a device of kind 'abacus'"):
        languages.for_device("abacus")
