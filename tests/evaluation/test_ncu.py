"""The GPU's own counters, where they may be read; a tool of the same name stands in for the real one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.evaluation.test_sanitizer import HONEST, library_of
from tests.problem.conftest import source_of
from treesearch import problem
from treesearch.evaluation.cuda import ncu, sanitizer
from treesearch.evaluation.cuda.contents import Contents
from treesearch.evaluation.cuda.ncu import LOG, METRICS, Profiler
from treesearch.feedback import Metric
from treesearch.records import Problem

HEAD = (
    '"ID","Process ID","Kernel Name","Block Size","Grid Size","Section Name","Metric Name","Metric Unit","Metric Value"'
)
TIME, DRAM = "gpu__time_duration.sum", "dram__throughput.avg.pct_of_peak_sustained_elapsed"


def line(number: int, function: str, metric: str, value: str) -> str:
    cells = (
        str(number),
        "77",
        function,
        "(256, 1, 1)",
        "(64, 1, 1)",
        "Command line profiler metrics",
        metric,
        "",
        value,
    )
    return ",".join(f'"{cell}"' for cell in cells)


TABLE = "\n".join(
    [
        "==PROF== Connected to process 77 (/usr/bin/python3.11)",
        HEAD,
        line(0, "_Z4sumsPKfPfS1_", TIME, "1,234,500"),
        line(0, "_Z4sumsPKfPfS1_", DRAM, "61.25"),
        line(1, "_Z4sumsPKfPfS1_", DRAM, "3.5"),
        line(1, "normalize", DRAM, "n/a"),
        line(1, "normalize", "sm__unknown.sum", "7"),
        line(1, "normalize now", DRAM, "7"),
        line(1, "normalize", TIME, "nan"),
    ]
)


@pytest.fixture(scope="module")
def row_sums() -> Problem:
    forward = "x: return x.sum(1, keepdim=True).expand_as(x).contiguous()"
    return problem.from_source("row_sums", source_of(forward, "torch.randn(64, 256)"))


@pytest.fixture
def faked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    tmp_path.chmod(0o755)  # for a tool that runs as another user
    (tmp_path / "kernel.so").touch()
    (tmp_path / "table.csv").write_text(TABLE)
    return tmp_path


def fake(folder: Path, script: str) -> None:
    """A tool of the real one's name that does what the script says; `$log` is where it is to write."""
    find = 'while [ "$1" != --log-file ]; do shift; done; log=$2'
    path = folder / "ncu"
    path.write_text(f"#!/bin/sh\n{find}\n{script}\n")
    path.chmod(0o755)


@pytest.fixture(scope="module")
def contents() -> Iterator[Contents]:
    with Contents() as made:
        yield made


Made = Callable[..., Profiler]


@pytest.fixture
def profiler(contents: Contents, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Makes one whose walls need no GPU."""
    walls = sanitizer.walls
    monkeypatch.setattr(sanitizer, "walls", lambda *about: replace(walls(*about), gpu=False))
    return lambda seconds=20.0: Profiler("", contents, seconds)


def test_a_table_is_read_by_function_and_metric() -> None:
    assert ncu.parsed(TABLE) == (
        Metric("sums", "duration", 1234.5, "µs"),
        Metric("sums", "DRAM throughput", 61.25, "%"),
    )


@pytest.mark.parametrize("text", ["", "==ERROR== ERR_NVGPUCTRPERM", HEAD, '"one","two"\n"1"', '"'])
def test_what_is_no_table_has_no_figures(text: str) -> None:
    assert ncu.parsed(text) == ()


def test_a_kernel_is_profiled_with_the_counters_asked_for(row_sums: Problem, faked: Path, profiler: Made) -> None:
    fake(faked, f"while IFS= read -r row; do printf '%s\\n' \"$row\"; done > $log <<'END'\n{TABLE}\nEND")
    found = profiler()(faked / "kernel.so", row_sums)
    assert [metric.name for metric in found] == ["duration", "DRAM throughput"]


def test_where_counters_may_not_be_read_nothing_is_said_and_it_is_not_tried_again(
    row_sums: Problem, faked: Path, profiler: Made
) -> None:
    made = profiler()
    fake(faked, "echo '==ERROR== ERR_NVGPUCTRPERM'; exit 1")
    assert made(faked / "kernel.so", row_sums) == ()
    fake(faked, f"echo '{HEAD}' > $log; echo '{line(0, 'sums', TIME, '5000')}' >> $log")
    assert made(faked / "kernel.so", row_sums) == ()
    assert profiler()(faked / "kernel.so", row_sums) == (Metric("sums", "duration", 5, "µs"),)


def test_a_tool_that_hangs_is_stopped(row_sums: Problem, faked: Path, profiler: Made) -> None:
    fake(faked, "sleep 600")
    assert profiler(0.2)(faked / "kernel.so", row_sums) == ()


def test_without_the_tool_nothing_is_said(row_sums: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PATH", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.setenv(name, str(tmp_path))
    if ncu.tool() is not None:
        pytest.skip("ncu lies in a place that no variable hides")
    assert Profiler("", Contents(), 10)(tmp_path / "kernel.so", row_sums) == ()


def test_the_command_asks_for_every_metric_and_leaves_the_clocks_alone(tmp_path: Path) -> None:
    words = ncu.command("ncu", tmp_path)
    assert words[words.index("--metrics") + 1].split(",") == list(METRICS)
    assert words[words.index("--log-file") + 1] == str(tmp_path / LOG)
    assert words[words.index("--clock-control") + 1] == "none"
    assert words[-1] == str(tmp_path)


@pytest.mark.gpu
def test_the_real_tool_tells_how_long_a_kernel_takes(row_sums: Problem, contents: Contents) -> None:
    from treesearch.evaluation.cuda import device

    if ncu.tool() is None:
        pytest.skip("ncu is absent (it comes with the CUDA toolkit)")
    found = Profiler(device.cudart(), contents, 60)(library_of(row_sums, HONEST["plain"]), row_sums)
    if not found:
        pytest.skip("the GPU's counters may not be read here")
    assert {metric.function for metric in found} == {"sums"}
    figures = {metric.name: metric.value for metric in found}
    assert figures["duration"] > 0
    assert 0 <= figures["DRAM throughput"] <= 100
