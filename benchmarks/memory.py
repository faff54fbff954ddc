"""Peak memory while one kernel is judged: of the host, by all processes that take part, and of the GPU.

    python benchmarks/memory.py PROBLEM KERNEL.cu

Memory is sampled every 50 ms: proportional set sizes of this process and its children, and what the driver reports as
used on the GPU beyond what was used before.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import torch

from treesearch import languages, problem
from treesearch.evaluation.evaluator import Evaluator
from treesearch.records import Protocol

EVERY_SECONDS = 0.05


class Sampler(threading.Thread):
    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.host = 0
        self.device = 0
        free, total = torch.cuda.mem_get_info()
        self.before = total - free
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(EVERY_SECONDS):
            free, total = torch.cuda.mem_get_info()
            self.device = max(self.device, total - free - self.before)
            self.host = max(self.host, sum(map(proportional, family(os.getpid()))))


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
    sampler = Sampler()
    sampler.start()
    with Evaluator(subject, language, Protocol(subject.tolerance)) as evaluator:
        built = evaluator.build(Path(sys.argv[2]).read_text())
        started = time.monotonic()
        verdict = evaluator.judge(built)
        first = time.monotonic() - started
        again = evaluator.judge(built)
    sampler.over.set()
    sampler.join()
    gib = 1 << 30
    print(
        f"{subject.name}: {subject.bytes_read / gib:.2f} GiB read, {subject.bytes_written / gib:.2f} GiB written a call"
    )
    print(f"{verdict.status} in {verdict.milliseconds or 0:.3g} ms {verdict.error}")
    print(f"verdict after {first:.1f} s with its deck and baselines, {again.seconds:.1f} s without")
    print(f"peak memory: host {sampler.host / gib:.2f} GiB, GPU {sampler.device / gib:.2f} GiB")


if __name__ == "__main__":
    main()
