"""Floors of the shipped problems on a GPU like an H100, and what sets them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from treesearch import problem, roofline
from treesearch.records import Device, Rate

RATES = {"float32": 52e12, "tf32": 406e12, "bfloat16": 780e12, "float16": 790e12, "float8": 1500e12}
HOPPER = Device(
    "cuda",
    "a GPU like an H100",
    132,
    80 << 30,
    bandwidth=3.0e12,
    rates=tuple(Rate(precision, flops) for precision, flops in RATES.items()),
)

loaded = cache(problem.load)


@pytest.mark.parametrize(
    ("name", "milliseconds", "bound"),
    [
        ("matmul_fp32", 0.174, "operations"),
        ("matmul_fp16", 0.174, "operations"),
        ("attention_fp16", 1.392, "operations"),
        ("conv2d", 0.059, "bytes"),
        ("conv2d_relu_maxpool", 0.029, "bytes"),
        ("softmax", 0.716, "bytes"),
        ("layernorm", 0.190, "bytes"),
        ("cumsum", 0.716, "bytes"),
        ("cross_entropy", 0.700, "bytes"),
        ("depthwise_conv2d", 0.411, "bytes"),
    ],
)
def test_the_larger_of_bytes_and_operations_sets_the_floor(name: str, milliseconds: float, bound: str) -> None:
    floor = roofline.floor(loaded(name), HOPPER)
    assert floor is not None
    assert floor.milliseconds == pytest.approx(milliseconds, abs=0.001)
    assert floor.bound == bound
    assert floor.precision == ("float16" if bound == "operations" else "")


def test_a_tolerance_that_half_precision_cannot_meet_leaves_only_slower_rates() -> None:
    def precision(tolerance: float) -> tuple[str, float]:
        floor = roofline.floor(replace(loaded("matmul_fp32"), tolerance=tolerance), HOPPER)
        assert floor is not None
        return floor.precision, floor.rate

    assert precision(0.1) == ("float8", 1500e12)
    assert precision(1e-2) == ("float16", 790e12)
    assert precision(1e-4) == ("float32", 52e12)


def test_without_rates_bytes_remain_and_without_bandwidth_nothing() -> None:
    matmul, softmax = loaded("matmul_fp16"), loaded("softmax")
    floor = roofline.floor(matmul, replace(HOPPER, rates=()))
    assert floor is not None
    assert (floor.bound, round(floor.milliseconds, 4)) == ("bytes", 0.0336)
    assert roofline.floor(softmax, replace(HOPPER, bandwidth=None)) is None


def test_operations_that_cannot_be_counted_leave_the_bytes() -> None:
    floor = roofline.floor(replace(loaded("matmul_fp16"), flops=None), HOPPER)
    assert floor is not None
    assert floor.bound == "bytes"
