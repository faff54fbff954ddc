"""How long a prompt takes to make, and how long it gets, as an archive fills with ideas.

    python benchmarks/prompts.py [IDEAS]

Builds a search of IDEAS ideas (1,000 by default) with three kernels each in an archive of its own, and prints how much
CPU time reading its lineage takes, at first and again, and rendering each kind of question, the median of several, and
how long questions are.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from typing import TypeVar

from treesearch import prompts
from treesearch.archive import Archive
from treesearch.languages import CUDA
from treesearch.lineage import Lineage
from treesearch.records import (
    Accuracy,
    Argument,
    Category,
    Config,
    Device,
    Edge,
    Evaluation,
    Idea,
    Kernel,
    Measurement,
    Problem,
    Proposal,
    Protocol,
    Ratio,
    Relation,
    Role,
    Run,
    Signature,
    Status,
    Timing,
)

REPEATS = 7
IMPLEMENTATIONS = 3
IDEAS_A_PARENT = 8
CHARACTERS_A_TOKEN = 3.5
"""About as many as in code, which is what most of a prompt is."""

SHAPE = (1024, 1024)
ARGUMENTS = tuple(Argument(name, role, "float32", SHAPE) for name, role in (("x", Role.INPUT), ("out", Role.OUTPUT)))
PROBLEM = Problem("example", "import torch\n" * 40, Signature(ARGUMENTS))
DEVICE = Device("cuda", "Example GPU", 132, 80 << 30, architecture="sm_90a", bandwidth=3e12)
SOURCE = '#include "problem.h"\n' + "// a line of code as long as most\n" * 150

T = TypeVar("T")


def verdict(kernel: Kernel, place: int) -> Evaluation:
    """Every third kernel is wrong, the others are verified."""
    if place % 3 == 2:
        return Evaluation(Status.WRONG, DEVICE.id, Protocol(1e-2), "row 17 is off by 0.031 of its norm " * 10)
    milliseconds = 1 + kernel.round / 100 + place / 1000
    measurement = Measurement(Timing((milliseconds,)), Timing((4.0,)), Ratio(4 / milliseconds, 1, 9))
    accuracy = Accuracy(12, 3e-8, 3e-8, "float64", "float32-like")
    return Evaluation(Status.VERIFIED, DEVICE.id, Protocol(1e-2), "", accuracy, measurement)


def fill(archive: Archive, ideas: int) -> Run:
    """A search whose rounds each try a few ideas about a kernel of the round before."""
    run = archive.open_run(PROBLEM, Config(("scripted",), language="cuda"), DEVICE)
    parent = Kernel(run.id, 0, "0.0", "cuda", SOURCE, "")
    save(archive, parent, 0, ())
    for first in range(0, ideas, IDEAS_A_PARENT):
        number = 1 + first // IDEAS_A_PARENT
        proposals = [propose(run, number, place, parent) for place in range(min(IDEAS_A_PARENT, ideas - first))]
        archive.save_proposals(proposals)
        parent = implement(archive, run, proposals, parent)
    return run


def propose(run: Run, number: int, place: int, parent: Kernel) -> Proposal:
    title = f"Idea {place} of round {number}, whose name says what it changes"
    idea = Idea(title, Category.MEMORY, "What it changes, and why that is faster. " * 10, 1.2, "medium")
    return Proposal(run.id, number, place, parent.id, "", idea)


def implement(archive: Archive, run: Run, proposals: list[Proposal], parent: Kernel) -> Kernel:
    """Kernels of the proposals; returns the first, from which the search goes on."""
    kernels = [
        Kernel(run.id, one.round, f"{one.ordinal}.{variant}", "cuda", f"{SOURCE}// {one.id} {variant}\n", "", one)
        for one in proposals
        for variant in range(IMPLEMENTATIONS)
    ]
    for place, kernel in enumerate(kernels):
        save(archive, kernel, place, [Edge(parent.id, kernel.id, Relation.REFINES)])
    return kernels[0]


def save(archive: Archive, kernel: Kernel, place: int, edges: Sequence[Edge]) -> None:
    archive.save_kernel(kernel, edges)
    archive.save_evaluation(kernel.id, verdict(kernel, place))


def read(archive: Archive, run: Run, file: Path) -> Lineage:
    """Prints what reading the lineage takes; returns it."""

    def opened() -> Lineage:
        with Archive(file) as fresh:
            return fresh.growing(run.id)

    later = count(10**6)

    def grow() -> None:
        number = next(later)
        for place in range(IDEAS_A_PARENT * IMPLEMENTATIONS):
            save(archive, Kernel(run.id, number, f"0.{place}", "cuda", SOURCE, ""), place, ())

    def reread() -> Lineage:
        return archive.growing(run.id)

    seconds, lineage = timed(opened)
    print(f"{len(lineage.entries)} kernels; medians of {REPEATS}")
    report("reading the lineage, at first", seconds)
    report(f"… after a round of {IDEAS_A_PARENT * IMPLEMENTATIONS}", timed(reread, grow)[0])
    report("… where nothing is new, some five times a round", timed(reread)[0])
    return lineage


def timed(work: Callable[[], T], before: Callable[[], object] = lambda: None) -> tuple[float, T]:
    """Median CPU seconds of doing it, each time after what comes `before`, and what came of it."""
    times, found = [], None
    for _ in range(REPEATS):
        before()
        started = time.process_time()
        found = work()
        times.append(time.process_time() - started)
    assert found is not None
    return median(times), found


def report(what: str, seconds: float, text: str = "") -> None:
    length = f", {len(text)} characters, about {len(text) / CHARACTERS_A_TOKEN:.0f} tokens" if text else ""
    print(f"{what}: {1e3 * seconds:.1f} ms{length}")


def main() -> None:
    ideas = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as folder, Archive(Path(folder) / "archive.db") as archive:
        run = fill(archive, ideas)
        lineage = read(archive, run, Path(folder) / "archive.db")
        render(lineage, archive, run)


def render(lineage: Lineage, archive: Archive, run: Run) -> None:
    """Prints what rendering each kind of question takes, of a lineage that looks into its archive for what is long."""
    fresh = [Lineage(lineage.entries, archive.edges(run.id)) for _ in range(REPEATS)]
    about, verified = (PROBLEM, CUDA, DEVICE), lineage.verified()
    parent = verified[len(verified) // 2]
    whole = archive.lineage(run.id).entry(parent.id)
    failed, idea = replace(whole, evaluation=verdict(whole.kernel, 2)), whole.kernel.idea
    prompts.ideas(*about, parent, lineage, 8)  # templates are compiled once
    report("ideas, the first question of a round", *timed(lambda: prompts.ideas(*about, parent, fresh.pop(), 8)))
    report("ideas, each further one", *timed(lambda: prompts.ideas(*about, parent, lineage, 8)))
    kernel = partial(prompts.kernel, *about, parent=parent, idea=idea, variant=0, variants=3)
    report("kernel", *timed(kernel))
    report("repair", *timed(lambda: prompts.repair(*about, failed, idea)))


if __name__ == "__main__":
    main()
