"""compute-sanitizer over a kernel that is to be promoted: accesses out of bounds, races, reads of nothing written.

A kernel that can tell that it is watched may behave; what this finds are mistakes whose results happen to be right.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from treesearch.evaluation import sandbox
from treesearch.evaluation.checks import Check
from treesearch.evaluation.cuda import device
from treesearch.evaluation.cuda.contents import Contents
from treesearch.evaluation.device import cores
from treesearch.evaluation.sanitized import Sanitized, Watched
from treesearch.evaluation.walls import Walls, readable, toolchain
from treesearch.languages import toolkit
from treesearch.problem import memory
from treesearch.records import Problem

NAME = "compute-sanitizer"
SYNCCHECK, RACECHECK = "synccheck", "racecheck"
TOOLS = ("memcheck", "initcheck", SYNCCHECK, RACECHECK)
"""Racecheck comes last, which not every kernel meets: where one works in shared memory it takes half a minute, the
others a second or two each."""
LEFT_OUT = f"not run: {RACECHECK} is left out, whose reports would be no proof of a race"
FOUND = 86
"""Exit code that the tool gives where it found something. Its words are shown, and never parsed: a kernel can print
the same."""
PADDING_BYTES = 4096
CONTEXT_BYTES, SHADOWED = 2 << 30, 3
"""What a watched process takes of the device's memory, roughly: so much, and this many times the problem's tensors,
scratch of their size and a tool's notes on all of it included."""
REPORTS = 5
"""Errors of one tool that are printed."""
MOST_CHARACTERS = 800
"""Of what one tool says."""
MOST_BYTES = 4 << 30
"""Of a problem's tensors; larger ones are not tried, since each access takes many times longer under a tool."""
SCRIPT = Path(__file__).with_name("once.py")


def tool() -> str | None:
    """Path of compute-sanitizer, where it is installed."""
    return toolkit.find(NAME, NAME)


def sanitize(
    kernels: Sequence[Watched], problem: Problem, cudart: str, contents: Contents, seconds: float
) -> list[Sanitized]:
    """Call kernels once under each of their tools, on contents that are always the same, each call in `seconds`.

    As many calls are made at once as cores and the device's memory allow: a tool mostly starts. Holds no lock: whoever
    calls sees to it that nothing is timed meanwhile.
    """
    started = time.monotonic()
    path, needed = tool(), problem.bytes_read + problem.bytes_written
    if path is None:
        return [_not_run(f"{NAME} is not installed")] * len(kernels)
    if needed > MOST_BYTES:
        return [_not_run(f"the tensors take {needed >> 20} MiB, too many to watch")] * len(kernels)
    with ExitStack() as kept, ThreadPoolExecutor(_at_once(needed)) as pool:

        def watch(library: Path, which: str) -> Future[_Said]:
            # A folder for each: what one kernel leaves in its own changes nothing for the next call.
            folder = Path(kept.enter_context(tempfile.TemporaryDirectory(prefix="treesearch-")))
            behind = walls(path, folder, library, cudart, contents.write_call(folder, library, problem, cudart))
            return pool.submit(_run, path, which, folder, behind, seconds)

        calls = [{which: watch(kernel.library, which) for which in _tools(kernel)} for kernel in kernels]
        said = [{which: call.result() for which, call in one.items()} for one in calls]
    each = (time.monotonic() - started) / len(kernels) if kernels else 0.0
    return [_together(kernel, one, each) for kernel, one in zip(kernels, said, strict=True)]


def _tools(kernel: Watched) -> tuple[str, ...]:
    return TOOLS if kernel.races else TOOLS[: TOOLS.index(RACECHECK)]


def _not_run(why: str) -> Sanitized:
    return Sanitized("", (), f"not run: {why}", 0.0)


def _at_once(needed: int) -> int:
    """How many calls with tensors of so many bytes have room beside each other."""
    room = memory.available("cuda") // (CONTEXT_BYTES + SHADOWED * needed)
    return max(1, min(cores(), room))


def _together(kernel: Watched, said: dict[str, _Said], seconds: float) -> Sanitized:
    """What a kernel's tools said; of those that did not run, why the first did not."""
    found = {which: one.findings for which, one in said.items() if not one.not_run}
    reasons = [one.not_run for one in said.values() if one.not_run]
    ended, raced, diverged = tuple(found), found.pop(RACECHECK, ""), found.pop(SYNCCHECK, "")
    not_run = reasons[0] if reasons else "" if kernel.races else LEFT_OUT
    return Sanitized("\n".join(filter(None, found.values())), ended, not_run, seconds, raced, diverged)


@dataclass(frozen=True)
class _Said:
    """What came of one tool: findings, or why it did not run, or neither."""

    findings: str = ""
    not_run: str = ""


def _run(path: str, name: str, folder: Path, behind: Walls, seconds: float) -> _Said:
    finished = sandbox.run(
        command(path, name, folder),
        seconds=max(seconds, 0.1),
        limits=sandbox.Limits(file=1 << 30),
        cwd=folder,
        walls=behind,
        variables=device.variables(),
    )
    if finished.timed_out:
        return _Said(not_run=f"not run: {name} took longer than {seconds:.0f} s")
    if finished.code == FOUND:
        return _Said(findings=f"{name}: {excerpt(finished.output)}")
    if finished.code != 0:
        last = " ".join(finished.output.split())[-300:]
        return _Said(not_run=f"not run: {name} ended with exit code {finished.code}: {last}")
    return _Said()


def command(path: str, name: str, folder: Path) -> list[str]:
    """The command line that runs the kernel in `folder` under one tool."""
    watched = [os.path.realpath(sys.executable), "-I", "-S", str(SCRIPT), str(folder)]
    options = ["--tool", name, "--error-exitcode", str(FOUND), "--print-limit", str(REPORTS), "--show-backtrace", "no"]
    if name == "memcheck":  # else what lies beyond one buffer may be another
        options += ["--padding", str(PADDING_BYTES)]
    return [path, *options, *watched]


def excerpt(output: str) -> str:
    """What a tool said of the first errors, without its margin, in a bounded number of characters."""
    lines = [line.removeprefix("=========").strip() for line in output.splitlines() if line.startswith("=========")]
    told = [line for line in lines if line and not re.match(r"COMPUTE-SANITIZER|Saved host|Host Frame", line)]
    text = "; ".join(told) or "an error that it does not describe"
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]} …"


def walls(path: str, folder: Path, library: Path, cudart: str, contents: Path) -> Walls:
    """As a worker's, but that the tool starts the kernel's process, and talks to it through a socket."""
    files = readable(SCRIPT.parent, folder, contents, library, Path(cudart))
    real = str(Path(os.path.realpath(path)).parent)  # what looks like the tool may be a script beside the real one
    without = frozenset({Check.NETWORK})
    return Walls((*files, *toolchain(path), real), (str(folder),), gpu=True, processes=True, without=without)
