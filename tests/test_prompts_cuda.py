"""What models are asked about CUDA kernels. Golden texts as in test_prompts.py, which says how to renew them."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.test_prompts import blocks, check_golden, refines
from treesearch import answers, prompts
from treesearch.languages import CUDA
from treesearch.lineage import Lineage
from treesearch.records import (
    Accuracy,
    Argument,
    Build,
    Category,
    Device,
    Entry,
    Evaluation,
    Idea,
    Kernel,
    Measurement,
    Problem,
    Proposal,
    Protocol,
    Rate,
    Ratio,
    Role,
    Signature,
    Status,
    Timing,
)

REFERENCE = """\
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.norm = nn.LayerNorm(shape)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(16, 64, 256, 256)]


def get_init_inputs():
    return [(64, 256, 256)]
"""
SHAPE, WEIGHT = (16, 64, 256, 256), (64, 256, 256)
PROBLEM = Problem(
    "layernorm",
    REFERENCE,
    Signature(
        (
            Argument("x", Role.INPUT, "float32", SHAPE),
            Argument("norm_weight", Role.PARAMETER, "float32", WEIGHT, "norm.weight"),
            Argument("norm_bias", Role.PARAMETER, "float32", WEIGHT, "norm.bias"),
            Argument("out", Role.OUTPUT, "float32", SHAPE),
        )
    ),
)
DEVICE = Device(
    "cuda",
    "Example GPU 80GB",
    132,
    80 << 30,
    caches=("L2 50 MiB",),
    architecture="sm_90a",
    clock_mhz=1980,
    memory_clock_mhz=2619,
    shared_memory_bytes=227 << 10,
    bandwidth=3.0e12,
    rates=(Rate("float32", 52e12), Rate("tf32", 406e12), Rate("float16", 760e12)),
    software=("driver 580.95", "CUDA 13.0", "torch 2.13.0"),
)
SOURCE = """\
#include "problem.h"

constexpr int64_t row = norm_weight_numel;

extern "C" __global__ void statistics(const float* x, double* sums) {
    double sum = 0, squares = 0;
    for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < row; i += gridDim.x * blockDim.x) {
        double value = x[blockIdx.y * row + i];
        sum += value;
        squares += value * value;
    }
    atomicAdd(&sums[2 * blockIdx.y], sum);
    atomicAdd(&sums[2 * blockIdx.y + 1], squares);
}

extern "C" __global__ void normalize(const float* x, const float* weight, const float* bias, const double* sums,
                                     float* out) {
    double mean = sums[2 * blockIdx.y] / row;
    float scale = rsqrt(sums[2 * blockIdx.y + 1] / row - mean * mean + 1e-5);
    for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < row; i += gridDim.x * blockDim.x)
        out[blockIdx.y * row + i] = (float)(x[blockIdx.y * row + i] - mean) * scale * weight[i] + bias[i];
}

extern "C" int64_t scratch_bytes(void) { return 2 * x_dim0 * sizeof(double); }

extern "C" int launch(const float* x, const float* norm_weight, const float* norm_bias, float* out, void* scratch,
                      cudaStream_t stream) {
    double* sums = (double*)scratch;
    cudaMemsetAsync(sums, 0, scratch_bytes(), stream);
    dim3 grid(64, x_dim0);
    statistics<<<grid, 256, 0, stream>>>(x, sums);
    normalize<<<grid, 256, 0, stream>>>(x, norm_weight, norm_bias, sums, out);
    return (int)cudaGetLastError();
}
"""
LOG = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'normalize' for 'sm_90a'
ptxas info    : Function properties for normalize
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers
ptxas info    : Compile time = 7.131 ms
ptxas info    : Compiling entry function 'statistics' for 'sm_90a'
ptxas info    : Function properties for statistics
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 28 registers, used 0 barriers
ptxas info    : Compile time = 4.305 ms
"""
VECTORS = Idea(
    "Load and store float4",
    Category.MEMORY,
    "Each thread handles four neighbouring elements, so that a warp asks for 512 bytes at once and more are in flight.",
    1.5,
    "More registers a thread.",
)
CLUSTER = Idea(
    "Keep a row in the shared memory of a cluster",
    Category.PARALLELISM,
    "A cluster of 16 blocks holds part of a row, so the second pass does not read device memory again.",
    1.3,
    "A row of 16 MiB does not fit.",
)
PROTOCOL = Protocol(1e-2)


def kernel(round: int, ordinal: str, idea: Idea | None = None, parent: str = "") -> Kernel:
    place = int(ordinal.split(".")[0])
    proposal = Proposal("run", round, place, parent, "answer", idea) if idea else None
    return Kernel("run", round, ordinal, "cuda", SOURCE, "answer", proposal)


def verified(kernel: Kernel, milliseconds: float, log: str = LOG) -> Entry:
    measurement = Measurement(
        Timing(tuple(milliseconds * factor for factor in (0.99, 1.0, 1.01))),
        Timing((8.2,)),
        Ratio(8.2 / milliseconds, 8.1 / milliseconds, 8.3 / milliseconds),
        Timing((0.49,)),
        Ratio(0.49 / milliseconds, 0.48 / milliseconds, 0.5 / milliseconds),
    )
    accuracy = Accuracy(15, 4.1e-7, 3.2e-7, "float64", "float32-like")
    build = Build("nvcc", 1.1, False, log)
    return Entry(kernel, Evaluation(Status.VERIFIED, "gpu", PROTOCOL, "", accuracy, measurement, build))


def failed(kernel: Kernel, status: Status, error: str, log: str = LOG) -> Entry:
    return Entry(kernel, Evaluation(status, "gpu", PROTOCOL, error, build=Build("nvcc", 1.1, False, log)))


ROOT = verified(kernel(0, "0.0"), 0.61)
STEP = verified(kernel(1, "0.0", VECTORS, ROOT.kernel.id), 0.43)
HANGING = failed(
    kernel(1, "1.0", CLUSTER, ROOT.kernel.id), Status.TIMED_OUT, "no answer within 20 s; the kernel was still running"
)
BREAKING = failed(
    kernel(2, "0.0", CLUSTER, STEP.kernel.id),
    Status.BROKE_CONTRACT,
    "launch cannot be captured into a graph: cudaMalloc failed with cudaErrorStreamCaptureUnsupported",
)
LINEAGE = Lineage([ROOT, STEP, HANGING, BREAKING], refines(ROOT, STEP, HANGING) + refines(STEP, BREAKING))


def ask_ideas(device: Device = DEVICE) -> str:
    return prompts.ideas(PROBLEM, CUDA, device, STEP, LINEAGE, 4)


def ask_kernel(
    parent: Entry | None = STEP, idea: Idea | None = CLUSTER, device: Device = DEVICE, variant: int = 1
) -> str:
    return prompts.kernel(PROBLEM, CUDA, device, parent=parent, idea=idea, variant=variant, variants=2)


# ── golden texts ────────────────────────────────────────────────────────────────────────────────


def test_ideas() -> None:
    check_golden("cuda_ideas", ask_ideas())


def test_the_first_kernel() -> None:
    check_golden("cuda_kernel_first", ask_kernel(None, None, variant=0))


def test_a_kernel_for_an_idea() -> None:
    check_golden("cuda_kernel", ask_kernel())


def test_a_repair_of_what_broke_the_contract() -> None:
    check_golden("cuda_repair", prompts.repair(PROBLEM, CUDA, DEVICE, BREAKING, CLUSTER))


# ── properties ──────────────────────────────────────────────────────────────────────────────────


def test_a_gpu_is_described_without_words_for_a_cpu() -> None:
    for text in (
        ask_ideas(),
        ask_kernel(),
        ask_kernel(None, None),
        prompts.repair(PROBLEM, CUDA, DEVICE, HANGING, None),
    ):
        outside = text.replace(SOURCE.strip(), "").replace(REFERENCE.strip(), "")
        assert not re.search(
            r"\bcores?\b(?! instr)|OpenMP|SIMD|g\+\+|Threads: |vectoriz", outside.replace("ensor core", "")
        ), text
        assert "132 streaming multiprocessors" in text


def test_the_contract_names_the_flags_that_kernels_are_built_with() -> None:
    command = " ".join(CUDA.command("nvcc", Path("kernel.cu"), Path("kernel.so"), "sm_90a"))
    flags = re.search(r"`nvcc ([^`]*)`", ask_kernel())
    assert flags is not None
    assert len(flags[1].split()) >= 6
    assert flags[1] in command
    assert "code=sm_100`" in ask_kernel(device=replace(DEVICE, architecture="sm_100")).replace(
        " -Xcompiler -fPIC -shared", ""
    )


def test_only_hopper_is_told_about_hopper() -> None:
    assert "## Hopper" in ask_ideas()
    assert "## Hopper" not in ask_ideas(replace(DEVICE, architecture="sm_100"))
    assert "### Fragments" in ask_kernel()
    assert "### Fragments" not in ask_ideas()
    assert "### Fragments" not in ask_kernel(None, None, variant=0)
    assert "### Fragments" in ask_kernel(None, None, variant=1), "a first kernel that is to be fast needs them"
    assert "### Matrix products" in ask_kernel()
    assert "### Matrix products" not in ask_kernel(device=replace(DEVICE, architecture="sm_100"))
    assert "### Matrix products" not in ask_ideas(), "ideas need the short page alone"


def test_the_floor_and_how_far_the_kernel_is_from_it_are_told() -> None:
    moved = 2 * 4 * 16 * 64 * 256 * 256 + 2 * 4 * 64 * 256 * 256
    floor = 1e3 * moved / 3.0e12
    assert f"**The floor: {floor:.4g} ms.**" in ask_ideas()
    assert f"That is {0.43 / floor:.2f}× the floor of {floor:.4g} ms, set by bytes." in ask_ideas()
    assert f"{100 * floor / 0.43:.0f} % of the measured bandwidth" in ask_ideas()
    assert "floor:" not in ask_ideas(replace(DEVICE, bandwidth=None, rates=()))


def test_a_floor_set_by_arithmetic_names_its_precision() -> None:
    heavy = replace(PROBLEM, flops=2 * 4096**4)
    text = prompts.ideas(heavy, CUDA, DEVICE, STEP, LINEAGE, 4)
    assert "563 T operations at the rate measured in float16" in text
    assert "of the reference's 563 T operations" in text


def test_resources_are_told_by_function_and_warnings_below_them() -> None:
    noisy = "kernel.cu(3): warning #177-D: variable was declared but never referenced\n" + LOG
    text = ask_kernel(verified(STEP.kernel, 0.43, noisy))
    (told,) = (block for block in blocks(text) if block.startswith("Status: verified"))
    taken = "no spills, stack 0 bytes, static shared memory 0 bytes"
    assert f"\nnormalize:\n  32 registers a thread, {taken}\nstatistics:\n  28 registers a thread, {taken}\n" in told
    assert told.endswith("The compiler said:\nkernel.cu(3): warning #177-D: variable was declared but never referenced")
    assert "ptxas info" not in text
    assert "The compiler said" not in ask_kernel()


def test_a_functions_name_stays_in_its_fence() -> None:
    odd = LOG.replace("normalize", "```b")
    (told,) = (block for block in blocks(ask_kernel(verified(STEP.kernel, 0.43, odd))) if "\n```b:\n  32 reg" in block)
    assert told.startswith("Status: verified")


@pytest.mark.parametrize(
    "status", [Status.BUILD_FAILED, Status.CRASHED, Status.TIMED_OUT, Status.BROKE_CONTRACT, Status.WRONG]
)
def test_every_failure_is_explained_in_its_own_words(status: Status) -> None:
    text = prompts.repair(PROBLEM, CUDA, DEVICE, failed(STEP.kernel, status, "the reason"), None)
    explained = text.split("## What went wrong")[1].split("## How to go about it")[0]
    (told,) = blocks(explained)
    assert told.startswith(f"Status: {status.replace('_', ' ')}\n\nthe reason")
    assert "was not accepted" not in explained
    assert ("\nnormalize:\n" in told) == (status is not Status.BUILD_FAILED)


def test_an_answer_in_the_asked_form_is_understood() -> None:
    assert [idea.expected_speedup for idea in answers.ideas(ask_ideas(), 8)] == [1.25]
    assert answers.code(f"Plan.\n\n```{CUDA.fences[0]}\n{SOURCE}```\n", CUDA.fences) == SOURCE


@pytest.mark.nvcc
def test_every_fragment_of_the_prompt_builds_for_hopper(tmp_path: Path) -> None:
    """As real functions: nvcc drops inlined and static ones that nobody calls before ptxas sees them."""
    page = ask_kernel().split("### Fragments")[1].split("## The kernel to start from")[0]
    fragments = "\n".join(blocks(page)).replace("__device__ __forceinline__", "__device__")
    uses = (
        "template __global__ void ring<4, 1024>(const float*, float*, int64_t);\n"
        "template __device__ float cluster_sum<4>(float, float (&)[4]);\n"
        "template __device__ void wgmma_wait<0>();\ntemplate __device__ void settle<8>(float (&)[8]);\n"
        "template __device__ void copies_wait<0>();\n"
        "static_assert(swizzled<128>(5 * 128 + 3 * 16) == 5 * 128 + (3 ^ 5) * 16);\n"
        "static_assert(swizzled<64>(5 * 128 + 16) == 5 * 128 + 0 && swizzled<32>(5 * 128) == 5 * 128 + 16);\n"
        "__global__ void copy(float* to) { *to = 1; }\n"
        "cudaError_t start(float* to, cudaStream_t stream) {\n"
        "    return launch_with(cudaLaunchAttributeCooperative, copy, dim3(1), dim3(1), 0, stream, to);\n}\n"
    )
    (tmp_path / "problem.h").write_text(CUDA.header(PROBLEM))
    (tmp_path / "kernel.cu").write_text(f"{fragments}\n{uses}")
    compiler = CUDA.compiler()
    assert compiler is not None
    command = CUDA.command(compiler, Path("kernel.cu"), Path("kernel.o"), DEVICE.architecture)
    command = [word for word in command if word != "-shared"] + ["-dc", "-Werror", "all-warnings"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    defined = set(re.findall(r"^__(?:device|global)__ [\w ]+?(\w+)\(", fragments, re.MULTILINE))
    defined.discard("__launch_bounds__")
    assert len(defined) > 35
    reached = set(re.findall(r"Function properties for (\S+)", done.stdout + done.stderr))
    assert [name for name in sorted(defined) if not any(name in mangled for mangled in reached)] == []
