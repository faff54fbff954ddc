"""What a captured CUDA launch may hold. Names of driver functions are put together at run time, so that the graph is
all that is left to be judged by."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.problem.conftest import source_of
from treesearch import languages, problem
from treesearch.evaluation.checks import Check
from treesearch.evaluation.evaluator import Evaluator
from treesearch.records import Evaluation, Protocol, Status

pytestmark = pytest.mark.gpu

KERNEL = """
#include "problem.h"
#include <cuda.h>
#include <stdio.h>
EXTRA
__global__ void square(const float* x, float* out) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    out[i] = x[i] * x[i] + 1;
}
template <typename Function> Function of_driver(const char* rest) {
    char name[64];
    snprintf(name, sizeof name, "%c%s", 'c', rest);
    void* found = nullptr;
    cudaDriverEntryPointQueryResult how;
    cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &how);
    return (Function)found;
}
extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    BEFORE
    square<<<x_numel / 256, 256, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
"""
Judge = Callable[..., Evaluation]


def kernel(before: str, extra: str = "") -> str:
    return KERNEL.replace("BEFORE", before).replace("EXTRA", extra)


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    source = source_of("x: return x * x + 1", "torch.randn(4096, 1024)")
    subject = problem.from_source("square", source)
    protocol = Protocol(subject.tolerance, deadline_seconds=6, threads=1, nominal_calls=4, repeats=3)
    with Evaluator(subject, languages.CUDA, protocol, seed=7) as opened:
        yield opened


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("", id="one kernel"),
        pytest.param("square<<<x_numel / 256, 256, 0, stream>>>(x, out);", id="the same kernel twice"),
        pytest.param("other<<<1, 32, 0, stream>>>(out);", id="two kernels"),
        pytest.param("cudaMemsetAsync(out, 0, 64, stream);", id="a fill"),
        pytest.param("cudaMemcpyAsync(out, x, 64, cudaMemcpyDeviceToDevice, stream);", id="a copy on the device"),
        pytest.param("cudaMemcpyAsync(out, x, 64, cudaMemcpyDefault, stream);", id="a copy of unified addresses"),
        pytest.param(
            "void* to; cudaGetSymbolAddress(&to, table);cudaMemcpyAsync(to, x, 64, cudaMemcpyDeviceToDevice, stream);",
            id="a copy to constant memory",
        ),
    ],
)
def test_work_of_its_own_on_the_device_is_accepted(evaluator: Evaluator, before: str) -> None:
    extra = "__constant__ float table[16]; __global__ void other(float* out) { out[threadIdx.x] = table[0]; }"
    verdict = evaluator.evaluate(kernel(before, extra))
    assert verdict.status is Status.VERIFIED, verdict.error


ALLOCATES = """
    typedef CUresult (*Allocate)(CUdeviceptr*, size_t, CUstream);
    typedef CUresult (*Free)(CUdeviceptr, CUstream);
    CUdeviceptr made;
    of_driver<Allocate>("uMemAllocAsync")(&made, 1024, stream);
    of_driver<Free>("uMemFreeAsync")(made, stream);
"""
RUNS_ON_THE_HOST = """
    typedef CUresult (*Enqueue)(CUstream, CUhostFn, void*);
    of_driver<Enqueue>("uLaunchHostFunc")(stream, [](void*) {}, nullptr);
"""
LOADS_CODE = r"""
    typedef CUresult (*Load)(CUmodule*, const void*);
    typedef CUresult (*Get)(CUfunction*, CUmodule, const char*);
    typedef CUresult (*Run)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                            void**, void**);
    static CUfunction loaded;
    if (!loaded) {
        CUmodule module;
        of_driver<Load>("uModuleLoadData")(
            &module, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry NAME() { ret; }\n");
        of_driver<Get>("uModuleGetFunction")(&loaded, module, "NAME");
    }
    of_driver<Run>("uLaunchKernel")(loaded, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
"""


@pytest.mark.parametrize(
    ("before", "told"),
    [
        pytest.param(ALLOCATES, "launch allocates memory", id="memory"),
        pytest.param(RUNS_ON_THE_HOST, "launch runs code on the host", id="host"),
        pytest.param(LOADS_CODE.replace("NAME", "unknown"), "which is not part of the library", id="another's kernel"),
        pytest.param(
            LOADS_CODE.replace("NAME", "_Z6squarePKfPf"),
            "which is not part of the library",
            id="another's kernel by the name of its own",
        ),
        pytest.param(
            "static float table[16]; cudaMemcpyAsync(out, table, 64, cudaMemcpyHostToDevice, stream);",
            "memory of the host",
            id="a copy from the host",
        ),
        pytest.param(
            "static float table[16]; cudaMemcpyAsync(out, table, 64, cudaMemcpyDefault, stream);",
            "memory of the host",
            id="a copy from wherever it is",
        ),
    ],
)
def test_anything_else_breaks_the_contract(evaluator: Evaluator, before: str, told: str) -> None:
    verdict = evaluator.evaluate(kernel(before))
    assert verdict.status is Status.BROKE_CONTRACT, verdict.error
    assert told in verdict.error


@pytest.mark.parametrize("before", [RUNS_ON_THE_HOST, LOADS_CODE.replace("NAME", "unknown")], ids=["host", "code"])
def test_without_the_check_it_is_accepted(evaluator: Evaluator, before: str) -> None:
    protocol = evaluator.protocol
    without = frozenset({Check.GRAPH_NODES})
    with Evaluator(evaluator.problem, languages.CUDA, protocol, seed=7, without=without) as lenient:
        verdict = lenient.evaluate(kernel(before))
    assert verdict.status in (Status.VERIFIED, Status.SUSPECT), verdict.error
