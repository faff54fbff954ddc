"""What becomes of CUDA candidates on a GPU, honest and otherwise. After each, an honest one must be verified."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from treesearch import languages, problem
from treesearch.evaluation.evaluator import Evaluator
from treesearch.records import Evaluation, Protocol, Status

pytestmark = pytest.mark.gpu

SQUARE = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return x * x + 1

def get_inputs():
    return [torch.randn(4096, 1024)]

def get_init_inputs():
    return []
"""

KERNEL = """
#include "problem.h"
__global__ void square(const float* x, float* out) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    BODY
}
EXTRA
extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    BEFORE
    square<<<x_numel / 256, 256, 0, STREAM>>>(x, out);
    AFTER
    return (int)cudaGetLastError();
}
"""
RIGHT = "out[i] = x[i] * x[i] + 1;"


def kernel(body: str = RIGHT, *, before: str = "", after: str = "", extra: str = "", stream: str = "stream") -> str:
    text = KERNEL.replace("BODY", body).replace("BEFORE", before).replace("AFTER", after)
    return text.replace("EXTRA", extra).replace("STREAM", stream)


Judge = Callable[[str], Evaluation]


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    subject = problem.from_source("square", SQUARE)
    protocol = Protocol(subject.tolerance, deadline_seconds=6, threads=1, nominal_calls=4, repeats=3)
    with Evaluator(subject, languages.CUDA, protocol, seed=7) as opened:
        yield opened


@pytest.fixture
def judge(evaluator: Evaluator) -> Iterator[Judge]:
    yield evaluator.evaluate
    after = evaluator.evaluate(kernel())
    assert after.status is Status.VERIFIED, after.error


def test_an_honest_kernel_is_verified_and_timed(evaluator: Evaluator) -> None:
    verdict = evaluator.evaluate(kernel())
    assert verdict.status is Status.VERIFIED, verdict.error
    assert verdict.measurement is not None
    assert verdict.measurement.compile is not None, verdict.measurement.compile_error
    # 32 MiB of traffic at about 3 TB/s, with the cost of a launch
    assert 0.005 < verdict.measurement.kernel.median < 0.05
    assert verdict.measurement.warm is not None
    assert verdict.accuracy is not None
    assert verdict.accuracy.precision == "float32-like"
    assert verdict.accuracy.oracle == "float64"


def test_a_wrong_kernel(judge: Judge) -> None:
    verdict = judge(kernel("out[i] = x[i] * x[i] + 1.1f;"))
    assert verdict.status is Status.WRONG
    assert "expected" in verdict.error


def test_an_illegal_address(judge: Judge) -> None:
    verdict = judge(kernel("out[i + (1ll << 40)] = x[i];"))
    assert verdict.status is Status.CRASHED
    assert "illegal memory access" in verdict.error


def test_an_infinite_loop_is_stopped_at_the_deadline(judge: Judge, evaluator: Evaluator) -> None:
    started = time.monotonic()
    verdict = judge(kernel("volatile float* y = out; while (y[i] != 12345.0f) {} "))
    assert verdict.status is Status.TIMED_OUT
    assert time.monotonic() - started < 3 * evaluator.protocol.deadline_seconds


@pytest.mark.parametrize(
    ("before", "named"),
    [
        ("void* p; cudaMalloc(&p, 1024); cudaFree(p);", "cudaMalloc"),
        ("void* p; cudaMallocAsync(&p, 1024, stream); cudaFreeAsync(p, stream);", "cudaMallocAsync"),
        ("cudaMallocManaged((void**)&scratch, 1024);", "cudaMallocManaged"),
        ("static float* kept; if (!kept) cudaMalloc(&kept, 1024);", "cudaMalloc"),
    ],
)
def test_a_launch_that_allocates(judge: Judge, before: str, named: str) -> None:
    verdict = judge(kernel(before=before))
    assert verdict.status is Status.BROKE_CONTRACT, verdict.error
    assert named in verdict.error


@pytest.mark.parametrize("call", ["cudaDeviceSynchronize()", "cudaStreamSynchronize(stream)"])
def test_a_launch_that_synchronises(judge: Judge, call: str) -> None:
    verdict = judge(kernel(after=f"{call};"))
    assert verdict.status is Status.BROKE_CONTRACT, verdict.error
    assert call.partition("(")[0] in verdict.error


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(kernel(after="cudaMemcpy(out, x, 4, cudaMemcpyDeviceToDevice);"), id="a copy that waits"),
        pytest.param(kernel(after="cudaStreamQuery(stream); cudaGetLastError();"), id="a query"),
        pytest.param(
            kernel(
                extra="static void nothing(void*) {}",
                after="cudaLaunchHostFunc(stream, nothing, nullptr);",
            ),
            id="host code",
        ),
        pytest.param(kernel(stream="cudaStreamLegacy"), id="another stream"),
    ],
)
def test_a_launch_that_is_not_a_plain_graph(judge: Judge, source: str) -> None:
    verdict = judge(source)
    assert verdict.status is Status.BROKE_CONTRACT, verdict.error


def test_writing_past_the_end_of_an_output(judge: Judge) -> None:
    verdict = judge(kernel(RIGHT + " if (i == 0) out[x_numel + 5] = 0;"))
    assert verdict.status is Status.WRONG
    assert "memory next to out" in verdict.error


def test_writing_to_an_input(judge: Judge) -> None:
    verdict = judge(kernel(RIGHT + " if (i == 7) const_cast<float*>(x)[i] = 3;"))
    assert verdict.status in (Status.CRASHED, Status.WRONG)
    assert "illegal memory access" in verdict.error or "input x" in verdict.error


def test_an_output_that_is_not_all_written(judge: Judge) -> None:
    verdict = judge(kernel("if (i % 1000) out[i] = x[i] * x[i] + 1;"))
    assert verdict.status is Status.WRONG
    assert "not finite" in verdict.error


def test_a_launch_that_fails_unnoticed(judge: Judge) -> None:
    """A block of 2048 threads cannot be launched; without a check the launch seems to succeed."""
    source = kernel().replace("256, 0", "2048, 0").replace("return (int)cudaGetLastError();", "return 0;")
    verdict = judge(source)
    assert verdict.status is Status.CRASHED, verdict.error
    assert "although a CUDA call in it failed" in verdict.error


def test_a_launch_that_reports_its_failure(judge: Judge) -> None:
    verdict = judge(kernel().replace("256, 0", "2048, 0"))
    assert verdict.status is Status.CRASHED
    assert "launch returned" in verdict.error


def test_scratch_is_handed_over_and_holds_garbage(judge: Judge) -> None:
    use = "float* kept = (float*)scratch_; kept[i] = x[i] * x[i]; out[i] = kept[i] + 1;"
    source = (
        kernel(use, extra='extern "C" int64_t scratch_bytes(void) { return x_numel * 4; }')
        .replace(
            "const float* x, float* out) {\n    int64_t", "const float* x, float* out, void* scratch_) {\n    int64_t"
        )
        .replace("(x, out);", "(x, out, scratch);")
    )
    verdict = judge(source)
    assert verdict.status is Status.VERIFIED, verdict.error
    stale = source.replace(use, "float* kept = (float*)scratch_; out[i] = x[i] * x[i] + 1 + 0 * kept[i];")
    verdict = judge(stale)
    assert verdict.status is Status.WRONG, "scratch is NaN before every launch"


def test_weights_converted_once_are_found_out(judge: Judge) -> None:
    """A static copy made in the first launch answers later ones with old contents."""
    extra = "__device__ float kept[4096 * 1024]; __device__ int filled[4096 * 1024];"
    verdict = judge(
        kernel("if (!filled[i]) { kept[i] = x[i]; filled[i] = 1; } out[i] = kept[i] * kept[i] + 1;", extra="").replace(
            "__global__", extra + "\n__global__"
        )
    )
    assert verdict.status is Status.WRONG


def test_a_source_that_does_not_compile(judge: Judge) -> None:
    verdict = judge(kernel("out[i] = y[i];"))
    assert verdict.status is Status.BUILD_FAILED
    assert "undefined" in verdict.error


def test_the_device_is_described(evaluator: Evaluator) -> None:
    described = evaluator.device
    assert described.kind == "cuda"
    assert described.architecture.startswith("sm_")
    assert described.bandwidth
    assert described.bandwidth > 1e11
    assert {"float16", "float32"} <= {rate.precision for rate in described.rates}
    assert any(name.startswith("driver ") for name in described.software)
