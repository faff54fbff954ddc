"""From source text to shared object: once per content, whatever the compiler meets."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from treesearch.errors import MachineError, ToolchainError
from treesearch.evaluation import build
from treesearch.evaluation.evaluator import Evaluator
from treesearch.languages import CPP, CUDA
from treesearch.records import Problem, Protocol

pytestmark = pytest.mark.untimed

TEMPLATE_BOMB = """
#include "problem.h"
template <int depth, long path> struct Bomb {
    static const long value = Bomb<depth - 1, path * 2>::value + Bomb<depth - 1, path * 2 + 1>::value;
};
template <long path> struct Bomb<0, path> { static const long value = 1; };
extern "C" int launch(const float*, float*, void*) { return Bomb<26, 1>::value == 0; }
"""


@pytest.fixture
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: str) -> Path:
    """An empty cache, for tests that count what is in it."""
    monkeypatch.setenv("TREESEARCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: str) -> Iterator[Path]:
    """A cache on a file system of 12 KiB, which holds a source and no shared object."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=12k", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("a small disk needs mount, which was not found")
    if mounted.returncode != 0:
        pytest.skip(f"a small disk needs the right to mount one: {mounted.stderr.strip()}")
    monkeypatch.setenv("TREESEARCH_CACHE", str(disk))
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def working_in(folder: Path) -> list[int]:
    """Processes whose working folder is under `folder`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder) in os.readlink(process / "cwd"):
                found.append(int(process.name))
        except OSError:  # it ended, or is not ours to look at
            continue
    return found


def test_the_same_source_is_built_once(fresh_cache: Path, tiny_problem: Problem, honest: str) -> None:
    first, again = (build.build(tiny_problem, CPP, honest) for _ in range(2))
    assert first.library is not None
    assert first.library == again.library
    assert first.library.read_bytes().startswith(b"\x7fELF")
    assert (first.record.cached, again.record.cached) == (False, True)
    assert first.record.seconds > 0
    assert first.record.command == again.record.command


def test_what_the_object_depends_on_makes_it_another(fresh_cache: Path, tiny_problem: Problem, honest: str) -> None:
    def unoptimized(compiler: str, source: Path, output: Path, architecture: str) -> list[str]:
        return [*CPP.command(compiler, source, output, architecture), "-O0"]

    other_source = build.build(tiny_problem, CPP, honest + "\n// another\n")
    other_command = build.build(tiny_problem, dataclasses.replace(CPP, command=unoptimized), honest)
    other_cpu = build.build(tiny_problem, dataclasses.replace(CPP, target=lambda: "another CPU"), honest)
    other_header = build.build(tiny_problem, dataclasses.replace(CPP, preamble=CPP.preamble + "\n// more"), honest)
    one = build.build(tiny_problem, CPP, honest)
    built = [one, other_source, other_command, other_cpu, other_header]
    assert [each.record.cached for each in built] == [False] * 5
    assert len({each.library for each in built}) == 5


def test_a_failure_is_remembered_with_its_words(fresh_cache: Path, tiny_problem: Problem) -> None:
    first, again = (build.build(tiny_problem, CPP, "#error no such luck") for _ in range(2))
    assert first.library is None
    assert again.library is None
    assert "no such luck" in first.error
    assert (again.error, again.record.cached) == (first.error, True)
    assert str(fresh_cache) not in first.error


CUDA_COPY = """
#include "problem.h"
__global__ void copy(const float* x, float* out) { out[threadIdx.x] = x[threadIdx.x]; }
extern "C" const char* where() { return __FILE__; }
extern "C" int launch(const float* x, float* out, void* scratch, cudaStream_t stream) {
    copy<<<1, 32, 0, stream>>>(x, out);
    return (int)cudaGetLastError();
}
"""


@pytest.mark.nvcc
def test_each_architecture_has_an_artefact_of_its_own(fresh_cache: Path, tiny_problem: Problem) -> None:
    built = [build.build(tiny_problem, CUDA, CUDA_COPY, each) for each in ("sm_90a", "sm_80", "", "sm_80")]
    assert [each.record.cached for each in built] == [False, False, True, True], "sm_90a is what CUDA stands for"
    assert built[0].library == built[2].library != built[1].library
    assert "code=sm_80 " in built[1].record.command
    assert [len(CUDA.resources(each.record.log)) for each in built] == [1] * 4
    assert built[0].library is not None
    assert str(fresh_cache).encode() not in built[0].library.read_bytes()


@pytest.mark.nvcc
def test_errors_of_nvcc_name_the_line_and_no_folder_of_this_machine(fresh_cache: Path, tiny_problem: Problem) -> None:
    built = build.build(tiny_problem, CUDA, CUDA_COPY.replace("copy<<<", "kopy<<<"))
    assert built.library is None
    assert built.error.startswith('kernel.cu(6): error: identifier "kopy" is undefined')
    again = build.build(tiny_problem, CUDA, CUDA_COPY.replace("copy<<<", "kopy<<<"))
    assert (again.error, again.record.cached) == (built.error, True)
    linked = build.build(tiny_problem, CUDA, "void missing();\nvoid f() { missing(); }\n")
    assert "undefined reference to `missing()'" in linked.error
    for error in (built.error, linked.error):
        assert str(fresh_cache) not in error
        assert "tmpxft_" not in error


def test_threads_that_build_the_same_source_share_one_artefact(
    fresh_cache: Path, tiny_problem: Problem, honest: str
) -> None:
    with ThreadPoolExecutor(8) as pool:
        built = list(pool.map(lambda _: build.build(tiny_problem, CPP, honest), range(8)))
    assert len({each.library for each in built}) == 1
    kept = [path for path in (fresh_cache / "builds").glob("*/*") if path.is_dir()]
    assert [path / "kernel.so" for path in kept] == [built[0].library]


def test_a_compiler_that_hangs_is_stopped_with_all_its_helpers(
    fresh_cache: Path, tiny_problem: Problem, monkeypatch: pytest.MonkeyPatch, honest: str
) -> None:
    monkeypatch.setattr(build, "BUILD_SECONDS", 1.5)
    started = time.monotonic()
    bomb = build.build(tiny_problem, CPP, TEMPLATE_BOMB)
    assert time.monotonic() - started < 10
    assert bomb.library is None
    assert "was stopped" in bomb.error
    while working_in(fresh_cache) and time.monotonic() - started < 10:  # a large process takes a moment to end
        time.sleep(0.05)
    assert working_in(fresh_cache) == []
    assert list((fresh_cache / "builds").glob("*/build-*")) == []
    assert build.build(tiny_problem, CPP, TEMPLATE_BOMB).record.cached is False


def test_a_torrent_of_diagnostics_is_kept_head_and_tail(fresh_cache: Path, tiny_problem: Problem) -> None:
    lines = "\n".join(f"#warning number {number} {'x' * 100}" for number in range(2000))
    built = build.build(tiny_problem, CPP, f"{lines}\n#error the last word\n")
    assert built.library is None
    assert len(built.error) < 100_000
    assert "number 0 " in built.error
    assert "bytes left out" in built.error
    assert "the last word" in built.error


def test_a_full_disk_is_the_machines_fault_and_named(small_disk: Path, tiny_problem: Problem, honest: str) -> None:
    with pytest.raises(MachineError, match="is full; free some space") as caught:
        build.build(tiny_problem, CPP, honest)
    assert str(small_disk) in str(caught.value)
    with pytest.raises(MachineError, match="is full"):
        build.build(tiny_problem, CPP, f"// {'x' * 20_000}\n{honest}")


def test_a_cache_that_cannot_be_made_is_the_machines_fault(
    tmp_path: Path, tiny_problem: Problem, monkeypatch: pytest.MonkeyPatch, compiler: str, honest: str
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TREESEARCH_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(MachineError, match="name another in TREESEARCH_CACHE"):
        build.build(tiny_problem, CPP, honest)


def test_without_a_compiler_one_sentence_says_how_to_get_one(
    tmp_path: Path, tiny_problem: Problem, monkeypatch: pytest.MonkeyPatch, honest: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match=r"no compiler for C\+\+.*install g\+\+"):
        build.build(tiny_problem, CPP, honest)
    with pytest.raises(ToolchainError, match=r"install g\+\+"):
        Evaluator(tiny_problem, CPP, Protocol(1e-2))


def test_what_killed_builds_left_is_swept_and_builds_under_way_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREESEARCH_CACHE", str(tmp_path))
    old, fresh = tmp_path / "builds" / "ab" / "build-old", tmp_path / "builds" / "ab" / "build-fresh"
    for folder in (old, fresh):
        folder.mkdir(parents=True)
        (folder / "kernel.cpp").write_text("")
    os.utime(old, (0, 0))
    build.sweep()
    assert not old.exists()
    assert fresh.exists()


def test_a_command_and_its_children_die_with_the_process_that_ran_it(tmp_path: Path) -> None:
    """As a compiler and its passes do when treesearch is killed."""
    script = (
        "from pathlib import Path; from treesearch.evaluation import sandbox; "
        "command = ['sh', '-c', 'sleep 300 & echo $! > child; wait']; "
        f"sandbox.run(command, seconds=300, limits=sandbox.Limits(), cwd=Path({str(tmp_path)!r}))"
    )
    controller = subprocess.Popen([sys.executable, "-c", script])
    pid = tmp_path / "child"
    deadline = time.monotonic() + 20
    while not (pid.exists() and pid.read_text().strip()):
        assert time.monotonic() < deadline, "the command did not start"
        time.sleep(0.02)
    controller.kill()
    controller.wait()
    while _runs(int(pid.read_text())):
        assert time.monotonic() < deadline, "the child outlived the controller"
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(("cores", "gib", "builds"), [(2, 64, 2), (16, 128, 16), (64, 16, 8), (4, 3, 1), (4, 0, 1)])
def test_as_many_builds_run_at_once_as_cores_and_memory_allow(cores: int, gib: int, builds: int) -> None:
    assert build.side_by_side(cores, gib << 30) == builds
