"""Nsight Compute over a kernel that is to be promoted: a few of the GPU's own counters, where they may be read.

Many machines keep counters from everybody but an administrator. There it says nothing, and is not asked again. No
verdict depends on what it tells: a kernel can behave otherwise while it is watched.
"""

from __future__ import annotations

import csv
import math
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from treesearch.evaluation import sandbox
from treesearch.evaluation.cuda import device, sanitizer
from treesearch.evaluation.cuda.contents import Contents
from treesearch.feedback import Metric
from treesearch.languages import toolkit
from treesearch.languages.symbols import demangled
from treesearch.records import Problem

NAME = "ncu"
INSTALLATIONS = Path("/opt/nvidia/nsight-compute")
METRICS = {
    "gpu__time_duration.sum": ("duration", "µs", 1e-3),
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": ("DRAM throughput", "%", 1),
    "lts__t_sector_hit_rate.pct": ("L2 hit rate", "%", 1),
    "l1tex__t_sector_hit_rate.pct": ("L1 hit rate", "%", 1),
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": ("SM throughput", "%", 1),
    "smsp__issue_active.avg.pct_of_peak_sustained_active": ("issue slots used", "%", 1),
    "sm__warps_active.avg.pct_of_peak_sustained_active": ("active warps", "%", 1),
}
"""What is asked for, by Nsight Compute's names, and how it is told: the figure's name, its unit, and how much of that
Nsight Compute's base unit is."""
MOST_LAUNCHES = 16
MOST_FUNCTIONS = 8
MOST_BYTES = 1 << 20
LOG = "ncu.csv"


class Profiler:
    """Reads the counters of built kernels, until it turns out that it may not."""

    def __init__(self, cudart: str, contents: Contents, seconds: float) -> None:
        """`cudart` is the CUDA runtime that kernels use; `seconds` is what one kernel may take."""
        self._cudart = cudart
        self._contents = contents
        self._seconds = seconds
        self._works = True

    def __call__(self, library: Path, problem: Problem) -> tuple[Metric, ...]:
        """The figures of each kernel function in one call, on contents that are always the same.

        Holds no lock: whoever calls sees to it that nothing is timed meanwhile.
        """
        path = tool()
        if not self._works or path is None or problem.bytes_read + problem.bytes_written > sanitizer.MOST_BYTES:
            return ()
        found = self._profile(path, library, problem)
        self._works = bool(found)
        return found

    def _profile(self, path: str, library: Path, problem: Problem) -> tuple[Metric, ...]:
        with tempfile.TemporaryDirectory(prefix="treesearch-") as name:
            folder = Path(name)
            contents = self._contents.write_call(folder, library, problem, self._cudart)
            finished = sandbox.run(
                command(path, folder),
                seconds=self._seconds,
                limits=sandbox.Limits(file=1 << 30),
                cwd=folder,
                walls=sanitizer.walls(path, folder, library, self._cudart, contents),
                variables={**device.variables(), "HOME": str(folder)},
            )
            if finished.timed_out or finished.code != 0:
                return ()
            return parsed(_head(folder / LOG))


def tool() -> str | None:
    """Path of ncu: the newest installation, else the one on PATH or in a toolkit, which may be a script that looks for
    an installation where a process behind walls sees none."""
    installed = sorted(INSTALLATIONS.glob(f"*/{NAME}"), reverse=True)
    return next((str(place) for place in installed if os.access(place, os.X_OK)), None) or toolkit.find(NAME)


def command(path: str, folder: Path) -> list[str]:
    """The command line that runs the kernel in `folder` once under the profiler, caches cold and clocks left alone."""
    watched = [os.path.realpath(sys.executable), "-I", "-S", str(sanitizer.SCRIPT), str(folder)]
    told = ["--csv", "--print-units", "base", "--print-kernel-base", "mangled", "--log-file", str(folder / LOG)]
    how = ["--launch-count", str(MOST_LAUNCHES), "--cache-control", "all", "--clock-control", "none"]
    return [path, *told, *how, "--metrics", ",".join(METRICS), *watched]


def parsed(text: str) -> tuple[Metric, ...]:
    """The figures of a CSV table with a line for each metric of each launch; a function's first launch counts."""
    lines = [line for line in text.splitlines() if line.startswith('"')]  # others are the tool's own remarks
    first: dict[tuple[str, str], float] = {}
    for name, metric, value in _rows(lines):
        first.setdefault((name, metric), value)
    functions = list(dict.fromkeys(name for name, _ in first))[:MOST_FUNCTIONS]
    names = demangled(tuple(functions))
    return tuple(_metric(names[name], metric, value) for (name, metric), value in first.items() if name in names)


def _metric(function: str, metric: str, value: float) -> Metric:
    name, unit, scale = METRICS[metric]
    return Metric(function, name, scale * value, unit)


def _rows(lines: list[str]) -> Iterator[tuple[str, str, float]]:
    for row in csv.DictReader(lines):
        name, metric = row.get("Kernel Name") or "", row.get("Metric Name") or ""
        value = _number(row.get("Metric Value") or "")
        if name and not name.split()[1:] and metric in METRICS and value is not None:
            yield name, metric, value


def _number(text: str) -> float | None:
    """A number that may have commas between thousands."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _head(path: Path) -> str:
    try:
        with path.open(errors="replace") as file:
            return file.read(MOST_BYTES)
    except OSError:
        return ""
