"""Resident blocks, beside NVIDIA's own calculator."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from treesearch.feedback.occupancy import LIMITS, Occupancy, occupancy
from treesearch.languages import CUDA

THREADS = (1, 32, 96, 128, 160, 256, 384, 512, 736, 1024)
REGISTERS = (16, 24, 32, 33, 40, 64, 72, 96, 128, 168, 255)
SHARED = (0, 1, 1000, 8192, 33_000, 49_152, 70_000, 101_376, 166_912, 232_448)

CALCULATOR = """
#include <stddef.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include "cuda_occupancy.h"
int main() {
    int capability, warps, optin, total, threads, registers, shared;
    while (scanf("%d %d %d %d %d %d %d", &capability, &warps, &optin, &total, &threads, &registers, &shared) == 7) {
        cudaOccDeviceProp device;
        device.computeMajor = capability / 10; device.computeMinor = capability % 10;
        device.maxThreadsPerBlock = 1024; device.maxThreadsPerMultiprocessor = 32 * warps;
        device.regsPerBlock = device.regsPerMultiprocessor = 65536; device.warpSize = 32;
        device.sharedMemPerBlock = 49152; device.sharedMemPerMultiprocessor = total; device.numSms = 100;
        device.sharedMemPerBlockOptin = optin; device.reservedSharedMemPerBlock = 1024;
        cudaOccFuncAttributes function;
        memset(&function, 0, sizeof function);
        function.maxThreadsPerBlock = INT_MAX; function.numRegs = registers; function.sharedSizeBytes = 0;
        function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN; function.maxDynamicSharedSizeBytes = shared;
        function.numBlockBarriers = 1;
        cudaOccDeviceState state;
        memset(&state, 0, sizeof state);
        state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
        cudaOccResult result;
        int code = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, threads, shared);
        printf("%d\\n", code ? -1 : result.activeBlocksPerMultiprocessor);
    }
}
"""


def header() -> Path | None:
    """Where the toolkit keeps its calculator."""
    compiler = CUDA.compiler()
    beside = [Path(os.path.realpath(compiler)).parent.parent / "include"] if compiler else []
    places = [*beside, Path("/usr/local/cuda/include"), *sorted(Path("/usr/local").glob("cuda-*/include"))]
    return next((place for place in places if (place / "cuda_occupancy.h").exists()), None)


def test_every_architecture_agrees_with_nvidias_calculator(tmp_path: Path) -> None:
    include, compiler = header(), shutil.which("g++")
    if include is None or compiler is None:
        pytest.skip("g++ or the toolkit's cuda_occupancy.h was not found")
    (tmp_path / "calculator.cpp").write_text(CALCULATOR)
    built = [compiler, "-w", f"-I{include}", str(tmp_path / "calculator.cpp"), "-o", str(tmp_path / "calculator")]
    subprocess.run(built, check=True)
    cases = list(itertools.product(LIMITS, THREADS, REGISTERS, SHARED))
    asked = [
        f"{capability} {LIMITS[capability].warps} {LIMITS[capability].shared_bytes - 1024} "
        f"{LIMITS[capability].shared_bytes} {threads} {registers} {shared}"
        for capability, threads, registers, shared in cases
    ]
    answered = subprocess.run(
        [str(tmp_path / "calculator")], input="\n".join(asked), capture_output=True, text=True, check=True
    )
    expected = [int(line) for line in answered.stdout.split()]
    found = [occupancy(f"sm_{capability}", *rest) for capability, *rest in cases]
    blocks = [one.blocks if one else 0 for one in found]
    assert [case for case, one, other in zip(cases, blocks, expected, strict=True) if one != other] == []
    assert len(set(expected)) > 10, "the calculator was asked something"


def test_what_limits_is_named() -> None:
    assert occupancy("sm_90a", 256, 32, 0) == Occupancy(8, 64, 64, ("registers", "threads"))
    assert occupancy("sm_90a", 256, 64, 0) == Occupancy(4, 32, 64, ("registers",))
    assert occupancy("sm_90a", 128, 32, 100 << 10) == Occupancy(2, 8, 64, ("shared memory",))
    assert occupancy("sm_90a", 32, 16, 0) == Occupancy(32, 32, 64, ("blocks",))


@pytest.mark.parametrize(
    ("architecture", "threads", "registers", "shared"),
    [
        ("sm_75", 256, 32, 0),
        ("", 256, 32, 0),
        ("sm_90", 2048, 32, 0),
        ("sm_90", 1024, 128, 0),
        ("sm_86", 64, 32, 1 << 20),
    ],
)
def test_an_unknown_architecture_and_a_block_that_does_not_fit_have_none(
    architecture: str, threads: int, registers: int, shared: int
) -> None:
    assert occupancy(architecture, threads, registers, shared) is None
