"""The problems that ship: what they are, what they cost at the least, and that any machine can load them."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import pytest

from treesearch import problem
from treesearch.records import Problem, Role

SMALL = ("bias_silu_clamp", "depthwise_conv2d_small", "softmax_small")

LARGE: dict[str, tuple[tuple[tuple[str, str, tuple[int, ...]], ...], tuple[str, str, tuple[int, ...]]]] = {
    "matmul_fp32": (
        (("a", "float32", (4096, 4096)), ("b", "float32", (4096, 4096))),
        ("out", "float32", (4096, 4096)),
    ),
    "matmul_fp16": (
        (("a", "float16", (4096, 4096)), ("b", "float16", (4096, 4096))),
        ("out", "float16", (4096, 4096)),
    ),
    "conv2d": (
        (
            ("x", "float32", (100, 3, 224, 224)),
            ("conv_weight", "float32", (96, 3, 11, 11)),
            ("conv_bias", "float32", (96,)),
        ),
        ("out", "float32", (100, 96, 55, 55)),
    ),
    "conv2d_relu_maxpool": (
        (
            ("x", "float32", (100, 3, 224, 224)),
            ("conv_weight", "float32", (96, 3, 11, 11)),
            ("conv_bias", "float32", (96,)),
        ),
        ("out", "float32", (100, 96, 27, 27)),
    ),
    "softmax": ((("x", "float32", (4096, 65536)),), ("out", "float32", (4096, 65536))),
    "layernorm": (
        (
            ("x", "float32", (16, 64, 256, 256)),
            ("norm_weight", "float32", (64, 256, 256)),
            ("norm_bias", "float32", (64, 256, 256)),
        ),
        ("out", "float32", (16, 64, 256, 256)),
    ),
    "attention_fp16": (
        tuple((name, "float16", (8, 16, 4096, 128)) for name in "qkv"),
        ("out", "float16", (8, 16, 4096, 128)),
    ),
    "cumsum": ((("x", "float32", (8192, 32768)),), ("out", "float32", (8192, 32768))),
    "cross_entropy": (
        (("logits", "float32", (4096, 128256)), ("targets", "int64", (4096,))),
        ("out", "float32", ()),
    ),
    "depthwise_conv2d": (
        (
            ("x", "float32", (64, 192, 112, 112)),
            ("conv_weight", "float32", (192, 1, 7, 7)),
            ("conv_bias", "float32", (192,)),
        ),
        ("out", "float32", (64, 192, 112, 112)),
    ),
}
"""What each reads and writes."""

FLOPS = {
    "matmul_fp32": 2 * 4096**3,
    "matmul_fp16": 2 * 4096**3,
    "conv2d": 2 * (100 * 96 * 55 * 55) * (3 * 11 * 11),
    "conv2d_relu_maxpool": 2 * (100 * 96 * 55 * 55) * (3 * 11 * 11),
    "attention_fp16": 2 * 2 * (8 * 16) * 4096**2 * 128,
    "depthwise_conv2d": 2 * (64 * 192 * 112 * 112) * (7 * 7),
    "depthwise_conv2d_small": 2 * (8 * 64 * 96 * 96) * (3 * 3),
}
"""Multiplications and additions; problems that are not named have no products to count."""

BYTES = {
    "matmul_fp32": (2 * 4 * 4096**2, 4 * 4096**2),
    "conv2d": (4 * (100 * 3 * 224**2 + 96 * 3 * 121 + 96), 4 * 100 * 96 * 55**2),
    "softmax": (1 << 30, 1 << 30),
    "layernorm": (4 * (16 + 2) * 64 * 256**2, 4 * 16 * 64 * 256**2),
    "attention_fp16": (3 * 2 * 8 * 16 * 4096 * 128, 2 * 8 * 16 * 4096 * 128),
    "cross_entropy": (4 * 4096 * 128256 + 8 * 4096, 4),
}

loaded = cache(problem.load)


def reads(subject: Problem) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
    inputs = subject.signature.of(Role.INPUT, Role.SCALAR, Role.PARAMETER, Role.BUFFER)
    return tuple((one.name, one.dtype, one.shape) for one in inputs)


def test_the_shipped_problems_are_listed_with_what_they_are() -> None:
    listed = {each.name: each.summary for each in problem.shipped()}
    assert set(listed) == {*SMALL, *LARGE}
    assert all(summary.endswith(".") and len(summary) < 120 for summary in listed.values())


@pytest.mark.parametrize("name", SMALL)
def test_the_small_ones_stay_below_the_size_from_which_allocations_distort_cpu_timings(name: str) -> None:
    assert all(one.nbytes < 32 << 20 for one in loaded(name).signature.arguments)


@pytest.mark.parametrize("name", LARGE)
def test_the_large_ones_read_and_write_what_they_say(name: str) -> None:
    inputs, output = LARGE[name]
    subject = loaded(name)
    assert reads(subject) == inputs
    assert [(one.name, one.dtype, one.shape) for one in subject.signature.of(Role.OUTPUT)] == [output]
    assert subject.precision == ("float16" if name.endswith("fp16") else "float32")


@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_operations_are_counted_where_there_are_products(name: str) -> None:
    assert loaded(name).flops == FLOPS.get(name)


@pytest.mark.parametrize("name", BYTES)
def test_compulsory_bytes_are_every_tensor_once(name: str) -> None:
    subject = loaded(name)
    assert (subject.bytes_read, subject.bytes_written) == BYTES[name]


def test_tolerances_are_tighter_where_a_lazy_kernel_would_slip_through_the_usual_one() -> None:
    own = {name: loaded(name).tolerance for name in LARGE if loaded(name).tolerance != 1e-2}
    assert own == {"cumsum": 1e-3, "cross_entropy": 1e-4}


LOADING = """
import sys
from treesearch import problem
problem.load(sys.argv[1])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:")))
"""


@pytest.mark.parametrize("name", ["softmax", "attention_fp16", "cross_entropy"])
def test_loading_takes_little_memory_even_where_tensors_are_gigabytes(name: str) -> None:
    """In a process of its own; the kernel's account, since getrusage's takes over the parent's across exec."""
    answer = subprocess.run([sys.executable, "-c", LOADING, name], capture_output=True, text=True, check=True)
    assert 1024 * int(answer.stdout) < 1 << 30
