"""compute-sanitizer over a kernel that is to be promoted: accesses out of bounds, races, reads of nothing written.

A kernel that can tell that it is watched may behave; what this finds are mistakes whose results happen to be right.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from treesearch.evaluation import sandbox
from treesearch.evaluation.checks import Check
from treesearch.evaluation.cuda import device
from treesearch.evaluation.cuda.contents import Contents
from treesearch.evaluation.sanitized import Sanitized
from treesearch.evaluation.walls import Walls, readable, toolchain
from treesearch.languages import toolkit
from treesearch.records import Problem

NAME = "compute-sanitizer"
SYNCCHECK, RACECHECK = "synccheck", "racecheck"
TOOLS = ("memcheck", "initcheck", SYNCCHECK, RACECHECK)
"""Racecheck comes last: on a kernel that works in shared memory it takes half a minute, the others a second each."""
LEFT_OUT = f"not run: {RACECHECK} is left out, whose reports would be no proof of a race"
FOUND = 86
"""Exit code that the tool gives where it found something. Its words are shown, and never parsed: a kernel can print
the same."""
PADDING_BYTES = 4096
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
    library: Path, problem: Problem, cudart: str, contents: Contents, seconds: float, *, races: bool = True
) -> Sanitized:
    """Call a built kernel once under each tool, on contents that are always the same, in `seconds` altogether.

    Without `races` all but racecheck, which takes longer than the others together. One tool after the other: several at
    once waited for each other until their time was up (CUDA 13.0 on an H100). Holds no lock: whoever calls sees to it
    that nothing is timed meanwhile.
    """
    started = time.monotonic()
    path, needed = tool(), problem.bytes_read + problem.bytes_written
    if path is None:
        return Sanitized("", (), f"not run: {NAME} is not installed", 0.0)
    if needed > MOST_BYTES:
        return Sanitized("", (), f"not run: the tensors take {needed >> 20} MiB, too many to watch", 0.0)
    found: dict[str, str] = {}
    not_run = "" if races else LEFT_OUT
    for which in TOOLS if races else TOOLS[: TOOLS.index(RACECHECK)]:
        left = seconds - (time.monotonic() - started)
        # A folder for each: what a kernel leaves in its own changes nothing for the next tool.
        with tempfile.TemporaryDirectory(prefix="treesearch-") as name:
            folder = Path(name)
            behind = walls(path, folder, library, cudart, contents.write_call(folder, library, problem, cudart))
            said = _run(path, which, folder, behind, left)
        if said.not_run:
            not_run = said.not_run
            break
        found[which] = said.findings
    ended, raced, diverged = tuple(found), found.pop(RACECHECK, ""), found.pop(SYNCCHECK, "")
    findings = "\n".join(filter(None, found.values()))
    return Sanitized(findings, ended, not_run, time.monotonic() - started, raced, diverged)


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
