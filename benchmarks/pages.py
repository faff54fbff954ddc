"""How soon pages and commands answer on a large archive.

    python -m benchmarks.pages prepare -o FILE [--runs N] [--kernels N] [--largest N]
    python -m benchmarks.pages run FILE

The first writes an archive of 100 runs and 100,000 kernels, 5,000 of them in one run, or as many as are named: some
1.6 GB, in two minutes. The second prints a Markdown table: how long the server's pages take, asked for the first time
and again, how much memory it had at most, how long a browser takes until the charts of the largest run are drawn, at
the first visit and again, where Chromium and Playwright are there, and how long commands take that look.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import large
from treesearch.archive import Archive
from treesearch.errors import TreesearchError, UsageError

if TYPE_CHECKING:
    from playwright.sync_api import Page

TREESEARCH = (sys.executable, "-c", "from treesearch.cli import main; main()")
GOALS = {"first page": "< 300 ms", "run page": "< 1 s in a browser"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DRAWN = ("#speed-chart canvas", "#lineage-tree [role=treeitem]")
"""What is there once a run's charts are."""
Row = tuple[str, str, str]
"""What was timed, what was found, and what should be."""


@dataclass(frozen=True)
class Subject:
    """What is looked at: the archive, its largest run, another on the same problem and device, its fastest kernel."""

    path: Path
    run: str
    other: str
    kernel: str
    kernels: int


@dataclass(frozen=True)
class Spent:
    """Seconds by the clock, and of a processor: on a busy machine the former say little."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{milliseconds(self.wall)} ({milliseconds(self.cpu)} of a processor)"


@dataclass(frozen=True)
class Served:
    """A `treesearch serve` of its own."""

    url: str
    process: int

    def get(self, path: str) -> tuple[Spent, int]:
        """What a page took, and how many bytes it has."""
        started, before = time.perf_counter(), self.cpu_seconds
        with urllib.request.urlopen(self.url + path) as reply:
            size = len(reply.read())
        return Spent(time.perf_counter() - started, self.cpu_seconds - before), size

    @property
    def cpu_seconds(self) -> float:
        """What it has used so far (https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html)."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def most_bytes(self) -> int:
        """Peak resident memory so far."""
        lines = Path(f"/proc/{self.process}/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def prepare(path: Path, runs: int, kernels: int, largest: int) -> None:
    """Make the archive and say how large it is. Raises UsageError where the file is there already."""
    if path.exists():
        raise UsageError(f"{path} is there already; name a file that is not, or remove it.")
    started = time.perf_counter()
    large.prepare(path, runs, kernels, largest)
    seconds, size = time.perf_counter() - started, path.stat().st_size
    print(f"{path}: {runs} runs, {kernels} kernels, {size / 1e6:.0f} MB in {seconds:.0f} s")


def chosen(path: Path) -> Subject:
    """The largest run that has a verified kernel. Raises UsageError where no other run can be compared with it."""
    with Archive(path, read_only=True) as archive:
        found = archive.summaries()
    largest = max((one for one in found if one.fastest), key=lambda one: one.kernels, default=None)
    if largest and largest.fastest:
        about = largest.run.problem, largest.run.device
        for run in (one.run for one in found if one is not largest):
            if (run.problem, run.device) == about:
                return Subject(path, largest.run.id, run.id, largest.fastest.kernel.id, largest.kernels)
    raise UsageError(f"{path} has no two runs to compare; write one with `python -m benchmarks.pages prepare -o FILE`.")


@contextmanager
def serving(path: Path) -> Iterator[Served]:
    command = [*TREESEARCH, "serve", "--port", "0", "--archive", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        try:
            yield Served(process.stdout.readline().strip().rstrip("/"), process.pid)
        finally:
            process.terminate()


def pages(subject: Subject, served: Served) -> Iterator[Row]:
    """Each kind of page, asked for the first time and again."""
    paths = {
        "first page": "/",
        "run page": f"/runs/{subject.run}",
        "kernel page": f"/kernels/{subject.kernel}",
        "compare page": f"/compare?run={subject.run}&run={subject.other}",
    }
    for what, path in paths.items():
        (first, size), (again, _) = served.get(path), served.get(path)
        yield f"{what}, {size / 1e3:.0f} kB", f"{first}, again {again}", GOALS.get(what, "–")


def in_browser(subject: Subject, served: Served) -> Iterator[Row]:
    """Until the charts of the run's page are drawn: by a server that nobody has asked for it yet, and again."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        yield "run page in a browser", "no Chromium here", GOALS["run page"]
        return
    from playwright.sync_api import sync_playwright  # a machine without a browser may lack it

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        first, again = (_drawn(subject, served, page) for _ in range(2))
        yield "run page in a browser, charts drawn", f"{first}, again {again}", GOALS["run page"]
        browser.close()


def _drawn(subject: Subject, served: Served, page: Page) -> Spent:
    """What it took, from the first page, as most people come: styles and scripts are there. The processor's time is
    the server's."""
    page.goto(served.url)
    started, before = time.perf_counter(), served.cpu_seconds
    page.goto(f"{served.url}/runs/{subject.run}", wait_until="commit")
    for drawn in DRAWN:
        page.locator(drawn).first.wait_for()
    return Spent(time.perf_counter() - started, served.cpu_seconds - before)


def commands(subject: Subject) -> Iterator[Row]:
    """Commands that look, each in a process of its own."""
    lines = {
        "show RUN": ["show", subject.run],
        "show KERNEL": ["show", subject.kernel],
        "tree RUN": ["tree", subject.run],
        "compare RUN RUN": ["compare", subject.run, subject.other],
        "search TEXT, a word that every kernel has": ["search", "launch"],
        "search TEXT, nowhere": ["search", "no kernel says this"],
    }
    for what, words in lines.items():
        yield f"treesearch {what}", str(spent([*TREESEARCH, *words, "--archive", str(subject.path)])), "–"


def spent(command: list[str]) -> Spent:
    """What a command took, which ends well."""
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Spent(time.perf_counter() - started, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.0f} ms"


def report(path: Path) -> Iterator[Row]:
    subject = chosen(path)
    yield f"largest run: {subject.kernels} kernels", subject.run, ""
    with serving(path) as served:
        yield from pages(subject, served)
        yield "the server's memory, at most", f"{served.most_bytes / 1e6:.0f} MB", "bounded"
    with serving(path) as served:
        yield from in_browser(subject, served)
    yield from commands(subject)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=(__doc__ or "").split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    preparing = commands.add_parser("prepare", help="write a large archive")
    preparing.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    preparing.add_argument("--runs", type=int, default=100, metavar="N", help="by default 100")
    preparing.add_argument("--kernels", type=int, default=100_000, metavar="N", help="of all runs; by default 100,000")
    preparing.add_argument("--largest", type=int, default=5000, metavar="N", help="of the first run; by default 5,000")
    running = commands.add_parser("run", help="time pages and commands on it")
    running.add_argument("file", type=Path, metavar="FILE")
    given = parser.parse_args()
    try:
        if given.command == "prepare":
            prepare(given.output, given.runs, given.kernels, given.largest)
            return
        for row in (("what", "found", "goal"), ("---",) * 3):
            print(f"| {' | '.join(row)} |")
        for row in report(given.file):
            print(f"| {' | '.join(row)} |", flush=True)
    except TreesearchError as error:
        print(f"Error: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from error


if __name__ == "__main__":
    main()
