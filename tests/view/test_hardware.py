"""Devices, floors and what a kernel takes, wherever they are shown."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.console import Console

from treesearch.errors import ArchiveError
from treesearch.events import Judged, RoundBegan, RunOpened
from treesearch.lineage import Lineage
from treesearch.records import (
    Accuracy,
    Argument,
    Build,
    Config,
    Device,
    Entry,
    Evaluation,
    Kernel,
    Measurement,
    Problem,
    Protocol,
    Rate,
    Ratio,
    Resources,
    Role,
    Run,
    Signature,
    Spending,
    Status,
    Timing,
)
from treesearch.roofline import Floor, floor
from treesearch.view import data, hardware, markdown, tables
from treesearch.view.progress import Progress

H100 = Device(
    kind="cuda",
    name="NVIDIA H100 80GB HBM3",
    cores=132,
    memory_bytes=80 << 30,
    architecture="sm_90a",
    clock_mhz=1980,
    memory_clock_mhz=2619,
    shared_memory_bytes=232_448,
    bandwidth=3.0e12,
    rates=(Rate("float32", 5.2e13), Rate("tf32", 4.06e14)),
    software=("driver 580.95", "CUDA 13.0"),
)
CPU = Device("cpu", "AMD EPYC", 2, 8 << 30)
NORM = Problem(
    "layernorm",
    "class Model: ...",
    Signature(
        (
            Argument("x", Role.INPUT, "float32", (16, 64, 256, 256)),
            Argument("out", Role.OUTPUT, "float32", (16, 64, 256, 256)),
        )
    ),
    flops=10**9,
)
MATMUL = replace(NORM, flops=2 * 4096**3, signature=Signature((Argument("x", Role.INPUT, "float32", (4096, 4096)),)))
RUN = Run("r1", NORM.digest, "layernorm", Config(("file/x",), "cuda"), H100.id, created="2026-11-21T00:00:00")
MEASUREMENT = Measurement(
    Timing((0.253,)), Timing((8.2,)), Ratio(32.4, 32.0, 33.0), Timing((0.47,)), Ratio(1.86, 1.8, 1.9)
)
EVALUATION = Evaluation(
    Status.VERIFIED,
    H100.id,
    Protocol(0.01),
    accuracy=Accuracy(15, 1e-7, 1e-7, "float64", "float32-like"),
    measurement=MEASUREMENT,
    build=Build("nvcc", 1.0, False, ""),
)
FASTEST = Entry(Kernel("r1", 0, "0.0", "cuda", "__global__ void f() {}", "a0"), EVALUATION)
LINEAGE = Lineage([FASTEST], [])
BOUND = floor(NORM, H100)


def printed(*things: object) -> str:
    out = io.StringIO()
    console = Console(file=out, width=200)
    for thing in things:
        console.print(thing)
    return out.getvalue()


def test_a_device_is_one_clause_in_its_own_terms() -> None:
    assert hardware.device(CPU) == "AMD EPYC, 2 cores"
    assert hardware.device(replace(CPU, cores=1)) == "AMD EPYC, 1 core"
    assert hardware.device(H100) == "NVIDIA H100 80GB HBM3, 132 SMs, sm_90a"


def test_what_was_measured_is_one_line_with_the_fastest_rate_first() -> None:
    assert hardware.figures(CPU) == ""
    assert hardware.figures(H100) == (
        "1980 MHz · memory 2619 MHz · copies at 3 TB/s · matrix products: tf32 406 TFLOP/s, float32 52 TFLOP/s · "
        "driver 580.95, CUDA 13.0"
    )


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (NORM, "floor 0.179 ms: moving 537 MB at 3 TB/s"),
        (MATMUL, "floor 0.339 ms: computing 137 GFLOP at 406 TFLOP/s in tf32"),
    ],
)
def test_a_floor_says_what_sets_it(problem: Problem, words: str) -> None:
    bound = floor(problem, H100)
    assert bound is not None
    assert hardware.floor(bound) == words


def test_a_kernel_has_a_place_only_where_it_and_the_floor_are_timed() -> None:
    assert hardware.place(FASTEST, BOUND) == "71 % of the floor's speed"
    assert hardware.place(FASTEST, None) == ""
    assert hardware.place(Entry(FASTEST.kernel), BOUND) == ""


def test_a_run_shows_its_device_the_floor_and_the_winners_place() -> None:
    written = printed(tables.run(RUN, LINEAGE, H100, Spending(), BOUND)).splitlines()
    assert "· cuda ·" in written[0]
    assert written[1].startswith("NVIDIA H100 80GB HBM3, 132 SMs, sm_90a · file/x")
    assert written[2].startswith("1980 MHz · ")
    assert written[3] == "floor 0.179 ms: moving 537 MB at 3 TB/s"
    assert [line for line in written if line.startswith("0.253 ms") and line.endswith("· 71 % of the floor's speed")]


def test_a_run_on_an_unmeasured_device_shows_no_floor() -> None:
    written = printed(tables.run(RUN, LINEAGE, CPU, Spending(), floor(NORM, CPU)))
    assert "AMD EPYC, 2 cores" in written
    assert "floor" not in written
    assert "floor" not in markdown.trajectory(RUN, CPU, [FASTEST])


def test_markdown_ends_with_the_floor_and_is_otherwise_the_same() -> None:
    bare = markdown.trajectory(RUN, H100, [FASTEST])
    assert bare.endswith("On NVIDIA H100 80GB HBM3, 132 SMs, sm\\_90a; intervals are 95 % bootstrap.\n")
    assert markdown.trajectory(RUN, H100, [FASTEST], BOUND) == (
        f"{bare}The floor there is 0.179 ms (moving 537 MB at 3 TB/s); the last step has 71 % of the floor's speed.\n"
    )


def test_a_kernel_shows_what_each_device_function_takes() -> None:
    taken = [Resources("norm<float>", 40, 16, 24, 32, 1024), Resources("sum", 255, 0, 0, 0, 0)]
    written = [line.split() for line in printed(tables.kernel(FASTEST, LINEAGE, taken, BOUND)).splitlines()]
    assert ["norm<float>", "40", "16", "24", "32", "1024"] in written
    assert ["sum", "255", "0", "0", "0", "0"] in written
    assert data.resources(taken)[0]["spill_load_bytes"] == 24


def test_json_holds_the_floor_and_all_of_the_device() -> None:
    found = data.run(RUN, LINEAGE, H100, BOUND)
    assert found["floor_milliseconds"] == pytest.approx(0.179, abs=1e-3)
    assert found["floor_bound"] == "bytes"
    assert found["device"]["rates"] == [
        {"precision": "float32", "flops": 5.2e13},
        {"precision": "tf32", "flops": 4.06e14},
    ]
    assert set(found["device"]) == {"id", *(name for name in vars(H100))}
    unknown = data.run(RUN, LINEAGE, CPU)
    assert unknown["floor_milliseconds"] is unknown["floor_bound"] is None
    assert data.trajectory([FASTEST], LINEAGE, BOUND)[0]["floor_bound"] == "bytes"


def progress(of: Callable[[Run], Floor | None]) -> str:
    """What the live view wrote of a run with one kernel, on a terminal."""
    out = io.StringIO()
    console = Console(file=out, width=160, force_terminal=True, legacy_windows=False, _environ={"TERM": "xterm"})
    with Progress(console, lambda run: Spending(), of) as shown:
        for event in (RunOpened(RUN, ()), RoundBegan(0, 1, ()), Judged(FASTEST, True)):
            shown(event)
        shown._live.refresh()
    return out.getvalue()


def test_progress_prints_the_floor_and_how_near_the_best_is() -> None:
    written = progress(lambda run: BOUND)
    assert "run r1 on layernorm in cuda, " in written
    assert "floor 0.179 ms: moving 537 MB at 3 TB/s" in written
    assert "best 0.253 ms, 32.40× eager, 1.86× compile, 71 % of the floor's speed" in written


def test_progress_goes_on_without_a_floor() -> None:
    def busy(run: Run) -> Floor | None:
        raise ArchiveError("locked")

    for of in (busy, lambda run: None):
        written = progress(of)
        assert "best 0.253 ms, 32.40× eager, 1.86× compile · " in written
        assert "floor" not in written
