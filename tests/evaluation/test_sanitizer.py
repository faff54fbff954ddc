"""Mistakes whose results are right, which only compute-sanitizer finds, and honest kernels that it finds none in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.problem.conftest import source_of
from treesearch import problem
from treesearch.evaluation import sandbox
from treesearch.evaluation.build import build
from treesearch.evaluation.cuda import sanitizer
from treesearch.evaluation.cuda.contents import Contents
from treesearch.evaluation.sandbox import Finished
from treesearch.evaluation.sanitized import Sanitized
from treesearch.languages import CUDA, sass
from treesearch.records import Problem

LAUNCH = """
#include "problem.h"
__global__ void sums(const float* x, float* out, float* scratch) {
    BODY
}
extern "C" int64_t scratch_bytes(void) { return 4 * x_numel; }
extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    sums<<<x_dim0, x_dim1, 0, stream>>>(x, out, (float*)scratch);
    return (int)cudaGetLastError();
}
"""
"""One block a row, one thread an element; `out` is the sum of a row, at each of its elements."""

ROW = "int row = blockIdx.x * x_dim1, i = threadIdx.x;"
SHARED = f"""{ROW}
    __shared__ float kept[x_dim1];
    kept[i] = x[row + i];
    BARRIER
    float sum = 0;
    for (int j = 0; j < x_dim1; ++j) sum += kept[j];
    out[row + i] = sum;
"""
HONEST = {
    "plain": f"{ROW} float sum = 0; for (int j = 0; j < x_dim1; ++j) sum += x[row + j]; out[row + i] = sum;",
    "shared memory": SHARED.replace("BARRIER", "__syncthreads();"),
    "scratch": f"{ROW} scratch[row + i] = x[row + i]; __syncthreads(); float sum = 0;"
    " for (int j = 0; j < x_dim1; ++j) sum += scratch[row + j]; out[row + i] = sum;",
}
MISTAKEN = {
    "memcheck": HONEST["plain"].replace("float sum = 0;", "float sum = x[x_numel + 64 + i % 16] == 3e-39f ? 1 : 0;"),
    "racecheck": SHARED.replace("BARRIER", ""),
    "initcheck": HONEST["plain"].replace("float sum = 0;", "float sum = scratch[row + i] == 3e-39f ? 1 : 0;"),
}
"""Bodies by the tool that finds the mistake in them."""


@pytest.fixture(scope="module")
def row_sums() -> Problem:
    forward = "x: return x.sum(1, keepdim=True).expand_as(x).contiguous()"
    return problem.from_source("row_sums", source_of(forward, "torch.randn(64, 256)"))


def library_of(subject: Problem, body: str) -> Path:
    built = build(subject, CUDA, LAUNCH.replace("BODY", body))
    assert built.library is not None, built.error
    return built.library


def sanitize(library: Path, subject: Problem, cudart: str, seconds: float, *, races: bool = True) -> Sanitized:
    with Contents() as contents:
        return sanitizer.sanitize(library, subject, cudart, contents, seconds, races=races)


def sanitized(subject: Problem, body: str) -> Sanitized:
    from treesearch.evaluation.cuda import device

    if sanitizer.tool() is None:
        pytest.skip("compute-sanitizer is absent (it comes with the CUDA toolkit)")
    return sanitize(library_of(subject, body), subject, device.cudart(), 120)


@pytest.mark.gpu
@pytest.mark.parametrize("tool", MISTAKEN)
def test_a_mistake_that_does_not_show_in_the_result_is_found(row_sums: Problem, tool: str) -> None:
    found = sanitized(row_sums, MISTAKEN[tool])
    assert found.not_run == ""
    assert f"{tool}: " in (found.races if tool == sanitizer.RACECHECK else found.findings)
    assert f"{tool}: " in found.doubt


@pytest.mark.gpu
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_kernel_is_clean(row_sums: Problem, name: str) -> None:
    found = sanitized(row_sums, HONEST[name])
    assert (found.findings, found.not_run, found.tools) == ("", "", sanitizer.TOOLS)


@pytest.mark.gpu
def test_a_tool_that_takes_too_long_is_said_not_to_have_run(row_sums: Problem) -> None:
    if sanitizer.tool() is None:
        pytest.skip("compute-sanitizer is absent (it comes with the CUDA toolkit)")
    from treesearch.evaluation.cuda import device

    found = sanitize(library_of(row_sums, HONEST["plain"]), row_sums, device.cudart(), 0.1)
    assert (found.findings, found.tools) == ("", ())
    assert "took longer" in found.not_run


@pytest.mark.gpu
def test_where_races_are_not_looked_for_that_is_said(row_sums: Problem) -> None:
    if sanitizer.tool() is None:
        pytest.skip("compute-sanitizer is absent (it comes with the CUDA toolkit)")
    from treesearch.evaluation.cuda import device

    racing = library_of(row_sums, MISTAKEN["racecheck"])
    found = sanitize(racing, row_sums, device.cudart(), 60, races=False)
    assert (found.doubt, found.tools, found.not_run) == ("", sanitizer.TOOLS[:-1], sanitizer.LEFT_OUT)


def test_without_the_tool_nothing_is_claimed(
    row_sums: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setenv("CUDA_PATH", str(tmp_path))
    if sanitizer.tool() is not None:
        pytest.skip("compute-sanitizer lies in a place that no variable hides")
    found = sanitize(tmp_path / "kernel.so", row_sums, "", 10)
    assert (found.findings, found.tools, found.not_run) == ("", (), "not run: compute-sanitizer is not installed")


def fake(folder: Path, script: str) -> None:
    """A tool of the real one's name that does what the script says."""
    path = folder / "compute-sanitizer"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def faked(row_sums: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    tmp_path.chmod(0o755)  # for a tool that runs as another user
    (tmp_path / "kernel.so").touch()
    return tmp_path


def test_each_tool_finds_a_folder_that_no_kernel_wrote_to(
    row_sums: Problem, faked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a kernel could leave the next tool another library to watch."""
    fake(faked, "exit 0")
    folders: list[Path] = []

    def run(command: list[str], *, cwd: Path, seconds: float, **about: object) -> Finished:
        assert str(faked / "kernel.so") in (cwd / "call.json").read_text()
        (cwd / "call.json").write_text("what a kernel leaves behind")
        folders.append(cwd)
        return Finished(sanitizer.FOUND * ("initcheck" in command), "========= Read", "racecheck" in command, 0.0)

    monkeypatch.setattr(sandbox, "run", run)
    said = sanitize(faked / "kernel.so", row_sums, "", 20)
    assert len(set(folders)) == len(folders) == len(sanitizer.TOOLS)
    assert not any(folder.exists() for folder in folders)
    assert (said.findings, said.tools) == ("initcheck: Read", sanitizer.TOOLS[:-1])
    assert said.not_run == "not run: racecheck took longer than 20 s"


@pytest.mark.gpu
def test_only_the_exit_code_says_that_something_was_found(row_sums: Problem, faked: Path) -> None:
    """A kernel can print what the tool would."""
    fake(faked, "echo '========= Invalid __global__ read of size 4 bytes'; echo '========= ERROR SUMMARY: 9 errors'")
    assert sanitize(faked / "kernel.so", row_sums, "", 20).findings == ""
    fake(faked, "echo '========= ERROR SUMMARY: 0 errors'; exit 86")
    assert "memcheck: ERROR SUMMARY: 0 errors" in sanitize(faked / "kernel.so", row_sums, "", 20).findings


@pytest.mark.gpu
def test_a_tool_that_does_not_work_is_said_not_to_have_run(row_sums: Problem, faked: Path) -> None:
    fake(faked, "echo 'this device is not supported'; exit 3")
    found = sanitize(faked / "kernel.so", row_sums, "", 20)
    assert (found.findings, found.tools) == ("", ())
    assert found.not_run == "not run: memcheck ended with exit code 3: this device is not supported"


HANDED_OVER = r"""
#include "problem.h"
#include <cuda/ptx>
__device__ void arrive(uint64_t* barrier) { cuda::ptx::mbarrier_arrive(barrier); }
__device__ void wait(uint64_t* barrier, int phase) {
    while (!cuda::ptx::mbarrier_try_wait_parity(barrier, phase)) {}
}
__global__ void sums(const float* x, float* out) {
    __shared__ float kept[x_dim1];
    __shared__ uint64_t full, empty;
    const int lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        cuda::ptx::mbarrier_init(&full, 32);
        cuda::ptx::mbarrier_init(&empty, WHO == 32 ? 32 : 1);
    }
    __syncthreads();
    for (int turn = 0; turn < 4; ++turn) {
        const int row = (blockIdx.x * 4 + turn) * x_dim1;
        if (threadIdx.x < 32) {
            if (turn > 0) wait(&empty, (turn - 1) % 2);
            for (int i = lane; i < x_dim1; i += 32) kept[i] = x[row + i];
            arrive(&full);
        } else {
            wait(&full, turn % 2);
            float sum = 0;
            for (int j = 0; j < x_dim1; ++j) sum += kept[j];
            for (int i = lane; i < x_dim1; i += 32) out[row + i] = sum;
            __syncwarp();
            if (lane < WHO) arrive(&empty);
        }
    }
}
extern "C" int launch(const float* x, float* out, void*, cudaStream_t stream) {
    sums<<<x_dim0 / 4, 64, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
"""
"""One warp fills a row, another sums it and gives it back: WHO lanes of it arrive, 32 or one for all."""


@pytest.mark.gpu
def test_racecheck_follows_an_mbarrier_only_for_threads_that_arrive_on_it(row_sums: Problem) -> None:
    """Why its reports are no proof where threads wait on mbarriers; this test tells when that has changed."""
    from treesearch.evaluation.cuda import device

    for who in (32, 1):
        built = build(row_sums, CUDA, HANDED_OVER.replace("WHO", str(who)))
        assert built.library is not None, built.error
        said = sanitize(built.library, row_sums, device.cudart(), 60)
        assert (said.findings, said.not_run) == ("", "")
        assert bool(said.races) == (who == 1)


MEETING = r"""
#include "problem.h"
__device__ void meet() { asm volatile("BARRIER" ::: "memory"); }
__global__ void sums(const float* x, float* out) {
    __shared__ float kept[x_dim1];
    const int lane = threadIdx.x % 32, row = blockIdx.x * x_dim1;
    if (threadIdx.x < 32) {
        for (int i = lane; i < x_dim1; i += 32) kept[i] = x[row + i];
        meet();
    } else {
        meet();
        float sum = 0;
        for (int j = 0; j < x_dim1; ++j) sum += kept[j];
        for (int i = lane; i < x_dim1; i += 32) out[row + i] = sum;
    }
}
extern "C" int launch(const float* x, float* out, void*, cudaStream_t stream) {
    sums<<<x_dim0, 64, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
"""
"""One warp fills a row, another sums it, and they meet, each at a place of its own in the code."""
ALIGNED, UNALIGNED = "bar.sync 1, 64;", "barrier.sync 1, 64;"


@pytest.mark.gpu
def test_synccheck_wants_all_that_meet_at_an_aligned_barrier_at_one_instruction(row_sums: Problem) -> None:
    """Why its reports are no proof where warps meet at named barriers; this test tells when that has changed."""
    from treesearch.evaluation.cuda import device

    for barrier in (ALIGNED, UNALIGNED):
        built = build(row_sums, CUDA, MEETING.replace("BARRIER", barrier))
        assert built.library is not None, built.error
        said = sanitize(built.library, row_sums, device.cudart(), 60)
        assert (said.findings, said.races, said.not_run) == ("", "", "")
        assert bool(said.divergence) == (barrier == ALIGNED)


@pytest.mark.nvcc
def test_a_kernel_with_named_barriers_is_known_by_its_machine_code(row_sums: Problem) -> None:
    if CUDA.disassembler is None or CUDA.disassembler.tool() is None:
        pytest.skip("cuobjdump is absent")
    vote = HONEST["shared memory"].replace("__syncthreads();", "if (__syncthreads_or(kept[i] > 3)) return;")
    for source, named in (
        (MEETING.replace("BARRIER", ALIGNED), True),
        (MEETING.replace("BARRIER", UNALIGNED), True),
        (LAUNCH.replace("BODY", HONEST["shared memory"]), False),
        (LAUNCH.replace("BODY", vote), False),
    ):
        (mix,) = build(row_sums, CUDA, source).mixes
        assert (mix.has(sass.NAMED_BARRIER), mix.has("barrier")) == (named, not named)


@pytest.mark.nvcc
def test_a_kernel_with_mbarriers_is_known_by_its_machine_code(row_sums: Problem) -> None:
    if CUDA.disassembler is None or CUDA.disassembler.tool() is None:
        pytest.skip("cuobjdump is absent")
    assert [mix.has(sass.MBARRIER) for mix in build(row_sums, CUDA, HANDED_OVER.replace("WHO", "1")).mixes] == [True]
    plain = build(row_sums, CUDA, LAUNCH.replace("BODY", HONEST["shared memory"]))
    assert [mix.has(sass.MBARRIER) for mix in plain.mixes] == [False]


def test_races_are_doubted_unless_threads_wait_on_mbarriers() -> None:
    said = Sanitized("", sanitizer.TOOLS, "", 1.0, "racecheck: Race reported between Read access and Write access")
    assert said.doubt == said.races
    among = said.among_mbarriers()
    assert among.doubt == ""
    assert "no proof" in among.not_run, "and nothing is claimed either"
    both = Sanitized("memcheck: Invalid read", sanitizer.TOOLS, "", 1.0, said.races)
    assert both.among_mbarriers().doubt == "memcheck: Invalid read"
    assert both.doubt == f"memcheck: Invalid read\n{said.races}"


def test_divergence_is_doubted_unless_warps_meet_at_named_barriers() -> None:
    said = Sanitized("", sanitizer.TOOLS, "", 1.0, "racecheck: Race", "synccheck: Divergent thread(s) in block")
    assert said.doubt == f"{said.divergence}\n{said.races}"
    assert said.among_mbarriers().doubt == said.divergence
    among = said.among_named_barriers()
    assert among.doubt == ""
    assert among.not_run.count("no proof") == 2
    assert Sanitized("", sanitizer.TOOLS, "", 1.0).among_named_barriers().not_run == ""
    assert Sanitized("memcheck: Invalid read", (), "", 1.0).among_named_barriers().doubt == "memcheck: Invalid read"


def test_what_is_said_is_bounded() -> None:
    said = sanitizer.excerpt("\n".join(f"========= Invalid read number {index}" for index in range(10_000)))
    assert said.startswith("Invalid read number 0; Invalid read number 1;")
    assert len(said) < 1000
