"""How far this machine's verdicts can be relied on: one kernel judged over and over, and kernels that differ by 2 %.

    python benchmarks/stability.py [--busy]

Prints a Markdown table for each device that kernels can be built for: how far apart verdicts on one kernel are, each
in a process of its own; how often a duel finds the faster of two kernels, of which one takes 2 % more of the same
steps; and how often it finds one of two equal kernels faster. What the 2 % amount to on the clock is measured as well.
With --busy, another process spins on one core meanwhile.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from treesearch import languages
from treesearch.evaluation import noise, target, yardstick
from treesearch.evaluation.build import Built
from treesearch.evaluation.evaluator import Evaluator
from treesearch.records import Device, Outcome

VERDICTS, DIFFERENT, EQUAL = 20, 20, 40
"""How often each is tried."""
MORE_WORK = 1.02
SPIN = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"


@dataclass(frozen=True)
class Tally:
    """What duels between the same two kernels said."""

    outcomes: Counter[Outcome]
    ratios: tuple[float, ...]
    """Of the second's time to the first's."""
    refused: int = 0
    """Duels whose readings could not be believed, which says that the machine was busy: these kernels are right."""

    @property
    def total(self) -> int:
        return self.outcomes.total() + self.refused

    @property
    def different(self) -> int:
        return self.outcomes[Outcome.FASTER] + self.outcomes[Outcome.SLOWER]


def main() -> None:
    parser = argparse.ArgumentParser(description="How far this machine's verdicts can be relied on.")
    parser.add_argument("--busy", action="store_true", help="with another process that spins on one core")
    busy = parser.parse_args().busy
    with neighbour(busy):
        for hardware in target.HERE.all():
            if languages.for_device(hardware.kind).compiler():
                print(report(hardware, busy), flush=True)


def report(hardware: Device, busy: bool) -> str:
    """Everything about one device, as Markdown."""
    measurements = noise.verdicts(hardware, VERDICTS)
    times = [one.kernel.median for one in measurements]
    same, more = duels(hardware)
    others = noise.others_share(measurements)
    load = "" if others is None else f"; other processes used {100 * others:.0f} % of all cores during the verdicts"
    known = "was not known" if hardware.noise is None else f"was taken to be {100 * hardware.noise:.2f} %"
    heading = f"{hardware.name}, {hardware.cores} cores{', one of them busy' if busy else ''}"
    return "\n".join(
        [
            f"### {heading}\n",
            "| what | tried | found | goal |",
            "|---|---|---|---|",
            *(f"| {what} | {tried} | {found} | {goal} |" for what, tried, found, goal in rows(times, same, more)),
            f"\nThe device's noise {known} to the duels{load}; load {os.getloadavg()[0]:.1f}.\n",
        ]
    )


def rows(times: Sequence[float], same: Tally, more: Tally) -> Iterator[tuple[str, int, str, str]]:
    """What was looked at, how often, what came of it, and what should."""
    median = statistics.median(times)
    furthest = max(abs(one / median - 1) for one in times)
    quartiles = statistics.quantiles(times, n=4, method="inclusive")
    yield "the same kernel, a process each: median ms", len(times), f"{median:.3f}", "≥ 0.2"
    yield "… furthest from that", len(times), share(furthest), "≤ 1 %"
    yield "… interquartile range", len(times), share((quartiles[2] - quartiles[0]) / median), "–"
    yield "… noise (95 % of pairs)", len(times) * (len(times) - 1) // 2, share(noise.floor(times)), "–"
    won, lost = more.outcomes[Outcome.FASTER], more.outcomes[Outcome.SLOWER]
    yield "of two 2 % apart, the faster one wins", more.total, f"{won}, and loses {lost}", "≥ 19 of 20"
    yield "two equal ones declared different", same.total, str(same.different), "≤ 1 in 20"
    if more.ratios:
        yield (
            "of two 2 % apart: measured difference",
            len(more.ratios),
            share(statistics.median(more.ratios) - 1),
            "2 %",
        )
    if len(same.ratios) > 1:
        yield "of equal ones: measured difference, 95 % within", len(same.ratios), share(within(same.ratios)), "–"
    if refused := same.refused + more.refused:
        yield "duels whose readings could not be believed", same.total + more.total, str(refused), "0"


def duels(hardware: Device) -> tuple[Tally, Tally]:
    """Duels of a kernel with an equal one, and with one that does 2 % more."""
    language = languages.for_device(hardware.kind)
    subject = yardstick.subject()
    protocol = target.protocol(subject, noise.DEADLINE_SECONDS, hardware)
    usual, slower = (yardstick.kernel(language, hardware, work) for work in (1.0, MORE_WORK))
    with Evaluator(subject, language, protocol, hardware) as evaluator:
        first, equal, more = map(evaluator.build, (usual, f"{usual}// equal\n", slower))
        return tally(evaluator, first, equal, EQUAL), tally(evaluator, first, more, DIFFERENT)


def tally(evaluator: Evaluator, first: Built, second: Built, times: int) -> Tally:
    """So many duels, of which half name the other kernel first."""
    outcomes: Counter[Outcome] = Counter()
    ratios = []
    refused = 0
    opposite = {Outcome.FASTER: Outcome.SLOWER, Outcome.SLOWER: Outcome.FASTER}
    for turn in range(times):
        swapped = turn % 2 == 1
        found = evaluator.duel(*((second, first) if swapped else (first, second)))
        if isinstance(found, str):
            refused += 1
            continue
        outcomes[opposite.get(found.outcome, found.outcome) if swapped else found.outcome] += 1
        ratios.append(1 / found.ratio.value if swapped else found.ratio.value)
    return Tally(outcomes, tuple(ratios), refused)


def within(ratios: Sequence[float]) -> float:
    """How far from 1 at the most 95 of 100 ratios are."""
    return statistics.quantiles([abs(ratio - 1) for ratio in ratios], n=20, method="inclusive")[-1]


def share(value: float) -> str:
    return f"{100 * value:.2f} %"


@contextmanager
def neighbour(busy: bool) -> Iterator[None]:
    """A process that uses all of one core, which the kernels' threads may be on as well."""
    if not busy:
        yield
        return
    with subprocess.Popen([sys.executable, "-S", "-c", SPIN]) as spinning:
        try:
            yield
        finally:
            spinning.kill()


if __name__ == "__main__":
    main()
