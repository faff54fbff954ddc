"""Peak memory while one kernel is judged: of the host, by all processes that take part, and of the GPU.

    python benchmarks/memory.py PROBLEM KERNEL

Memory is sampled every 50 ms: proportional set sizes of this process and its children, and what the driver reports as
used on the GPU, if there is one, beyond what was used before.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Self

import torch

from treesearch import languages, problem
from treesearch.evaluation.evaluator import Evaluator
from treesearch.records import Protocol

EVERY_SECONDS = 0.05
GIB = 1 << 30


class Sampler(threading.Thread):
    """Peaks in bytes: of this process, of all that it started together, and of the GPU."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.controller = 0
        self.children = 0
        self.device = 0
        self.before = used()
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(EVERY_SECONDS):
            self.device = max(self.device, used() - self.before)
            own, *others = map(proportional, family(os.getpid()))
            self.controller, self.children = max(self.controller, own), max(self.children, sum(others))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.join()

    @property
    def told(self) -> str:
        figures = {"controller": self.controller, "worker and baselines": self.children, "GPU": self.device}
        return ", ".join(f"{what} {peak / GIB:.2f} GiB" for what, peak in figures.items() if peak)


def used() -> int:
    """Bytes of the GPU's memory that are in use; 0 where there is no GPU."""
    if not torch.cuda.is_available():
        return 0
    free, total = torch.cuda.mem_get_info()
    return total - free


def family(root: int) -> list[int]:
    """A process and everything below it."""
    found = [root]
    for task in Path(f"/proc/{root}/task").glob("*/children"):
        for child in task.read_text().split():
            found += family(int(child))
    return found


def proportional(process: int) -> int:
    """Bytes, shared pages counted in parts; nothing for a process that is gone."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def main() -> None:
    subject = problem.load(sys.argv[1])
    language = languages.of_file(Path(sys.argv[2]))
    with Sampler() as sampler, Evaluator(subject, language, Protocol(subject.tolerance)) as evaluator:
        built = evaluator.build(Path(sys.argv[2]).read_text())
        started = time.monotonic()
        verdict = evaluator.judge(built)
        first = time.monotonic() - started
        again = evaluator.judge(built)
    read, written = subject.bytes_read / GIB, subject.bytes_written / GIB
    print(f"{subject.name}: {read:.2f} GiB read, {written:.2f} GiB written a call")
    print(f"{verdict.status} in {verdict.milliseconds or 0:.3g} ms {verdict.error}")
    print(f"verdict after {first:.1f} s with its deck and baselines, {again.seconds:.1f} s without")
    print(f"peak memory: {sampler.told}")


if __name__ == "__main__":
    main()
