"""What `show` and `trajectory` print of an archive that holds one problem in two languages, on two devices."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.steps import scripted
from tests.view.test_hardware import CPU, EVALUATION, H100, NORM
from treesearch.archive import Archive
from treesearch.records import Build, Config, Device, Evaluation, Kernel, Protocol, Run, Status

LOG = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z8sum_rowsPKfPf' for 'sm_90a'
ptxas info    : Function properties for _Z8sum_rowsPKfPf
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 14 registers, used 1 barriers, 1024 bytes smem
"""
UNMEASURED = replace(CPU, name="Xeon")


def fill(archive: Archive, language: str, device: Device) -> tuple[Run, Kernel]:
    """A run of the one problem with a verified kernel."""
    run = archive.open_run(NORM, Config(("file/x",), language), device)
    kernel = Kernel(run.id, 0, "0.0", language, f"// {language}", "")
    archive.save_kernel(kernel)
    judged = replace(EVALUATION, device=device.id, build=Build("nvcc", 1.0, False, LOG))
    archive.save_evaluation(kernel.id, judged)
    return run, kernel


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("two")


@pytest.fixture(scope="module")
def runs(folder: Path) -> dict[str, tuple[Run, Kernel]]:
    with Archive(folder / "archive.db") as archive:
        return {language: fill(archive, language, device) for language, device in (("cuda", H100), ("cpp", UNMEASURED))}


def printed(folder: Path, *words: str) -> str:
    done = scripted.typed(*words, "--archive", "archive.db", cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def found(folder: Path, *words: str) -> Any:
    return json.loads(printed(folder, *words, "--json"))


def test_each_run_is_shown_on_its_own_device(folder: Path, runs: dict[str, tuple[Run, Kernel]]) -> None:
    on_gpu, on_cpu = (printed(folder, "show", runs[language][0].id) for language in ("cuda", "cpp"))
    assert "NVIDIA H100 80GB HBM3, 132 SMs, sm_90a" in on_gpu
    assert "floor 0.179 ms: moving 537 MB at 3 TB/s" in on_gpu
    assert "71 % of the floor's speed" in on_gpu
    assert "· cuda ·" in on_gpu
    assert "Xeon, 2 cores" in on_cpu
    assert "· cpp ·" in on_cpu
    assert "floor" not in on_cpu
    assert runs["cuda"][1].id not in on_cpu


def test_a_kernel_shows_what_its_own_compiler_said(folder: Path, runs: dict[str, tuple[Run, Kernel]]) -> None:
    on_gpu = printed(folder, "show", runs["cuda"][1].id).splitlines()
    assert [line for line in on_gpu if line.split() == ["sum_rows", "14", "8", "12", "16", "1024"]]
    assert "device function" not in printed(folder, "show", runs["cpp"][1].id)


def test_json_names_floor_resources_and_language(folder: Path, runs: dict[str, tuple[Run, Kernel]]) -> None:
    run = found(folder, "show", runs["cuda"][0].id)
    assert (run["language"], run["floor_bound"], run["device"]["bandwidth"]) == ("cuda", "bytes", 3.0e12)
    kernel = found(folder, "show", runs["cuda"][1].id)
    assert kernel["floor_milliseconds"] == run["floor_milliseconds"] == pytest.approx(0.179, abs=1e-3)
    assert kernel["resources"][0]["registers"] == 14
    plain = found(folder, "show", runs["cpp"][1].id)
    assert (plain["floor_milliseconds"], plain["resources"]) == (None, [])


def test_a_trajectory_ends_with_the_floor_where_it_is_known(folder: Path, runs: dict[str, tuple[Run, Kernel]]) -> None:
    words = "floor 0.179 ms: moving 537 MB at 3 TB/s · 0.253 ms is 71 % of the floor's speed"
    assert words in printed(folder, "trajectory", runs["cuda"][0].id)
    assert "floor" not in printed(folder, "trajectory", runs["cpp"][0].id)
    assert "The floor there is 0.179 ms" in printed(folder, "trajectory", runs["cuda"][0].id, "--markdown")
    assert "floor" not in printed(folder, "trajectory", runs["cpp"][0].id, "--markdown")
    steps = found(folder, "trajectory", runs["cuda"][0].id)
    assert [step["floor_bound"] for step in steps] == ["bytes"]


def test_a_broken_contract_is_named_in_words(tmp_path: Path) -> None:
    with Archive(tmp_path / "archive.db") as archive:
        run = archive.open_run(NORM, Config(("file/x",), "cuda"), H100)
        kernel = Kernel(run.id, 0, "0.0", "cuda", "// allocates", "")
        archive.save_kernel(kernel)
        broke = Evaluation(Status.BROKE_CONTRACT, H100.id, Protocol(0.01), "launch calls cudaMalloc")
        archive.save_evaluation(kernel.id, broke)
    assert "broke contract" in printed(tmp_path, "show", run.id)
    assert "broke contract" in printed(tmp_path, "show", kernel.id)
    assert found(tmp_path, "show", kernel.id)["status"] == "broke_contract"


def test_a_kernels_profile_is_printed_as_models_read_it(folder: Path, runs: dict[str, tuple[Run, Kernel]]) -> None:
    told = printed(folder, "show", runs["cuda"][1].id, "--profile")
    assert told.startswith("Status: verified\n\nIt takes ")
    assert "of the measured bandwidth" in told
    assert "sum_rows:\n  14 registers a thread, spills 8 bytes stored and 12 loaded, stack 16 bytes" in told


def test_a_profile_that_the_verdict_holds_is_printed_as_it_is(tmp_path: Path) -> None:
    with Archive(tmp_path / "archive.db") as archive:
        run = archive.open_run(NORM, Config(("file/x",), "cpp"), UNMEASURED)
        kernel = Kernel(run.id, 0, "0.0", "cpp", "// cpp", "")
        archive.save_kernel(kernel)
        archive.save_evaluation(kernel.id, replace(EVALUATION, device=UNMEASURED.id, profile="Status: odd\x1b[2J"))
    assert printed(tmp_path, "show", kernel.id, "--profile") == "Status: odd\ufffd[2J\n"
    assert found(tmp_path, "show", kernel.id)["profile"] == "Status: odd\x1b[2J"


def test_a_run_has_no_profile(folder: Path, runs: dict[str, tuple[Run, Kernel]]) -> None:
    done = scripted.typed("show", runs["cpp"][0].id, "--profile", "--archive", "archive.db", cwd=folder)
    assert done.returncode == 2
    assert "Name a kernel whose profile to print" in done.stderr
