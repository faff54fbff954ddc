"""How far this machine's verdicts can be relied on: one kernel judged over and over, and kernels that differ by 2 %.

    python benchmarks/stability.py [--busy] [--kind cuda] [--part verdicts]

Prints a Markdown table for each device that kernels can be built for, or for the one of --kind: how far apart verdicts
on one kernel are, each in a process of its own; how often a duel finds the faster of two kernels, of which one takes
2 % more of the same steps; how often it finds one of two equal kernels faster; and how long duels take. What the 2 %
amount to on the clock is measured as well. The machine's load meanwhile, of which about one is the benchmark's own,
stands beside them. With --part, duels or verdicts alone: each takes minutes. With --busy, another process spins on one
core meanwhile.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from treesearch import languages
from treesearch.evaluation import noise, target, yardstick
from treesearch.evaluation.build import Built
from treesearch.evaluation.evaluator import Evaluator
from treesearch.records import Device, Measurement, Outcome

VERDICTS, DIFFERENT, EQUAL = 20, 20, 40
"""How often each is tried."""
MORE_WORK = 1.02
OPPOSITE = {
    Outcome.FASTER: Outcome.SLOWER,
    Outcome.SLOWER: Outcome.FASTER,
    Outcome.INCONCLUSIVE: Outcome.INCONCLUSIVE,
}
PARTS = "duels", "verdicts"
SPIN = """
import os, sys
if os.fork():
    os._exit(0)
while os.path.exists("/proc/" + sys.argv[1]):
    for _ in range(10**5): pass
"""
"""As nobody's child, since what descends from this process is no neighbour, and for as long as that is there."""


@dataclass(frozen=True)
class Fought:
    """One duel: what it said of the first kernel, the ratio of the second's time to the first's, how long it took, and
    the machine's load then."""

    outcome: Outcome | None
    """None where its readings could not be believed, which says that the machine was busy: these kernels are right."""
    ratio: float | None
    seconds: float
    load: float


@dataclass(frozen=True)
class Tally:
    """Duels between the same two kernels."""

    fought: Sequence[Fought]

    @property
    def total(self) -> int:
        return len(self.fought)

    def said(self, *outcomes: Outcome | None) -> int:
        return sum(one.outcome in outcomes for one in self.fought)

    @property
    def ratios(self) -> list[float]:
        return [one.ratio for one in self.fought if one.ratio is not None]


def main() -> None:
    parser = argparse.ArgumentParser(description="How far this machine's verdicts can be relied on.")
    parser.add_argument("--busy", action="store_true", help="with another process that spins on one core")
    parser.add_argument("--kind", choices=("cpu", "cuda"), help="this machine's device of that kind alone")
    parser.add_argument("--part", choices=PARTS, help="duels or verdicts alone")
    given = parser.parse_args()
    with neighbour(given.busy):
        for hardware in target.HERE.all() if given.kind is None else [target.HERE.of_kind(given.kind)]:
            if languages.for_device(hardware.kind).compiler():
                report(hardware, given.busy, [given.part] if given.part else PARTS)


def report(hardware: Device, busy: bool, parts: Sequence[str] = PARTS) -> None:
    """Prints everything about one device, or those parts of it, as Markdown, each row when it is known."""
    print(f"### {hardware.name}, {hardware.cores} cores{', one of them busy' if busy else ''}\n")
    print("| what | tried | found | goal |\n|---|---|---|---|", flush=True)
    for row in rows(hardware, parts):
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
    print()


Row = tuple[str, int, str, str]
"""What was looked at, how often, what came of it, and what should."""


def rows(hardware: Device, parts: Sequence[str]) -> Iterator[Row]:
    if "duels" in parts:
        yield from duel_rows(*duels(hardware))
    if "verdicts" in parts:
        yield from verdict_rows(noise.verdicts(hardware, VERDICTS))


def duel_rows(same: Tally, more: Tally) -> Iterator[Row]:
    """Duels of equal kernels, and of a kernel with one that does 2 % more."""
    won, lost = more.said(Outcome.FASTER), more.said(Outcome.SLOWER)
    different = same.said(Outcome.FASTER, Outcome.SLOWER)
    yield "two equal ones declared different", same.total, str(different), "≤ 1 in 20"
    yield "of two 2 % apart, the faster one wins", more.total, f"{won}, and loses {lost}", "≥ 19 of 20"
    if len(same.ratios) > 1:
        yield "of equal ones: measured difference, 95 % within", len(same.ratios), share(within(same.ratios)), "–"
    if more.ratios:
        found = share(statistics.median(more.ratios) - 1)
        yield "of two 2 % apart: measured difference", len(more.ratios), found, "2 %"
    for name, tally in (("equal", same), ("2 % apart", more)):
        yield f"{name}: seconds a duel", tally.total, spread(one.seconds for one in tally.fought), "–"
        yield f"{name}: load meanwhile", tally.total, spread(one.load for one in tally.fought), "–"
    if refused := same.said(None) + more.said(None):
        yield "duels whose readings could not be believed", same.total + more.total, str(refused), "0"


def verdict_rows(measurements: Sequence[Measurement]) -> Iterator[Row]:
    """Verdicts on one kernel, each in a process of its own."""
    times = [one.kernel.median for one in measurements]
    median = statistics.median(times)
    furthest = max(abs(one / median - 1) for one in times)
    quartiles = statistics.quantiles(times, n=4, method="inclusive")
    yield "the same kernel, a process each: median ms", len(times), f"{median:.3f}", "≥ 0.2"
    yield "… furthest from that", len(times), share(furthest), "≤ 1 %"
    yield "… interquartile range", len(times), share((quartiles[2] - quartiles[0]) / median), "–"
    yield "… noise (95 % of pairs)", len(times) * (len(times) - 1) // 2, share(noise.floor(times)), "–"
    yield "… load at the end", 1, f"{os.getloadavg()[0]:.1f}", "–"
    if (others := noise.others_share(measurements)) is not None:
        yield "… other processes had, of all cores", len(times), f"{100 * others:.0f} %", "–"


def duels(hardware: Device) -> tuple[Tally, Tally]:
    """Duels of a kernel with an equal one, and with one that does 2 % more."""
    language = languages.for_device(hardware.kind)
    subject = yardstick.subject()
    protocol = target.protocol(subject, noise.DEADLINE_SECONDS, hardware)
    usual, slower = (yardstick.kernel(language, hardware, work) for work in (1.0, MORE_WORK))
    with Evaluator(subject, language, protocol, hardware) as evaluator:
        first, equal, more = map(evaluator.build, (usual, f"{usual}// equal\n", slower))
        evaluator.duel(first, equal)  # inputs are drawn, which no duel's seconds should hold
        return tally(evaluator, first, equal, EQUAL), tally(evaluator, first, more, DIFFERENT)


def tally(evaluator: Evaluator, first: Built, second: Built, times: int) -> Tally:
    """So many duels, of which half name the other kernel first."""
    return Tally([fought(evaluator, first, second, swapped=turn % 2 == 1) for turn in range(times)])


def fought(evaluator: Evaluator, first: Built, second: Built, *, swapped: bool) -> Fought:
    """One duel. What it says is of the first kernel, also where that is named second."""
    started = time.monotonic()
    found = evaluator.duel(*((second, first) if swapped else (first, second)))
    seconds, load = time.monotonic() - started, os.getloadavg()[0]
    if isinstance(found, str):
        return Fought(None, None, seconds, load)
    if swapped:
        return Fought(OPPOSITE[found.outcome], 1 / found.ratio.value, seconds, load)
    return Fought(found.outcome, found.ratio.value, seconds, load)


def within(ratios: Sequence[float]) -> float:
    """How far from 1 at the most 95 of 100 ratios are."""
    return statistics.quantiles([abs(ratio - 1) for ratio in ratios], n=20, method="inclusive")[-1]


def share(value: float) -> str:
    return f"{100 * value:.2f} %"


def spread(values: Iterable[float]) -> str:
    """Median and extremes."""
    found = sorted(values)
    return f"{statistics.median(found):.1f} ({found[0]:.1f}–{found[-1]:.1f})"


@contextmanager
def neighbour(busy: bool) -> Iterator[None]:
    """A process that uses all of one core, which the kernels' threads may be on as well, until this one ends."""
    if not busy:
        yield
        return
    subprocess.run([sys.executable, "-S", "-c", SPIN, str(os.getpid())], check=True)
    yield


if __name__ == "__main__":
    main()
