"""Two kernels of one problem, launched in turn: which of them is faster, and how sure that is.

Times that were taken minutes apart differ by what the machine did meanwhile. Here both kernels are alive at once, each
in a worker of its own and stopped unless it is asked, and take turns on the same contents in the order ABBA: a drift,
and whatever the second place costs, falls on both alike. An outcome ranks kernels; it changes no verdict.
"""

from __future__ import annotations

import functools
import math
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from treesearch.evaluation import clock, imports, verify
from treesearch.evaluation.buffers import BufferSet
from treesearch.evaluation.candidate import Candidate, Failed
from treesearch.evaluation.checks import NONE, Check, Checks
from treesearch.evaluation.inputs import Call, Deck
from treesearch.evaluation.lanes import Lane
from treesearch.evaluation.trial import single_threaded
from treesearch.evaluation.walls import Walls
from treesearch.languages import Language
from treesearch.records import Outcome, Problem, Protocol, Ratio, Status, Timing

LOOKS = {10: 0.001, 20: 0.005, 40: 0.012}
"""After so many blocks of two pairs the interval is looked at, and leaves this share out at either end.

To look again is a further chance to be wrong, so the shares are small: equal kernels are declared different 3.5 times
in 100, in 6,000 simulated duels."""
FEWEST_BLOCKS = 8
"""However slow the kernels are: with fewer, equal ones fall on one side of 1 too often."""
SHARE = 0.5
"""Of the deadline, after which there are no more than the fewest blocks."""
CHECKED = 2
"""Blocks of each sitting whose answers are checked, which nothing tells from the others."""
RESAMPLES = 4000


@dataclass(frozen=True)
class Duelled:
    """How two kernels compare: `ratio` is the second's time ÷ the first's, `outcome` what the first is."""

    ratio: Ratio
    pairs: int
    outcome: Outcome


@dataclass(frozen=True)
class Turn:
    """One launch: the worker's reading, the controller's around it, and its reading where nothing is launched (ms)."""

    inside: float
    outside: float
    crossing: float


Block = tuple[tuple[Turn, Turn], tuple[Turn, Turn]]
"""Two pairs, one in each order, of the first kernel's turn and the second's."""


def log_ratio(block: Block) -> float:
    """Of the second kernel's time to the first's. What the order of a pair does is gone from it."""
    return statistics.fmean(math.log(second.inside / first.inside) for first, second in block)


def weigh(log_ratios: Sequence[float], noise: float | None = None) -> Duelled:
    """What the blocks' log ratios say, at a look.

    The interval is a bootstrap's of their median, and as much wider as processes of one kernel differ: `noise` is the
    device's (`Device.noise`), and independent of what differs from launch to launch. Over all looks together it holds
    the true ratio at least 95 times in 100.
    """
    found = torch.tensor(sorted(log_ratios), dtype=torch.float64)
    medians = found[_middle_ranks(len(found))].mean(dim=1)
    share = next(share for look, share in LOOKS.items() if len(found) <= look)
    low, high = medians.quantile(torch.tensor([share, 1 - share], dtype=torch.float64)).tolist()
    middle, width = statistics.median(log_ratios), math.log1p(noise or 0.0)
    low, high = middle - math.hypot(middle - low, width), middle + math.hypot(high - middle, width)
    ratio = Ratio(math.exp(middle), math.exp(low), math.exp(high))
    return Duelled(ratio, 2 * len(found), _outcome(ratio))


@functools.cache
def _middle_ranks(count: int) -> torch.Tensor:
    """Which two of so many sorted values lie in the middle of each resample: what is drawn does not depend on them."""
    drawn = torch.randint(count, (RESAMPLES, count), generator=torch.Generator().manual_seed(0))
    return drawn.sort(dim=1).values[:, [(count - 1) // 2, count // 2]]


def _outcome(ratio: Ratio) -> Outcome:
    if ratio.low > 1:
        return Outcome.FASTER
    return Outcome.SLOWER if ratio.high < 1 else Outcome.INCONCLUSIVE


def settle(play: Callable[[int], Sequence[float]], noise: float | None = None) -> Duelled:
    """The outcome of no more blocks than it takes. `play` gives so many log ratios, or fewer if time is up."""
    log_ratios: list[float] = []
    for look in LOOKS:
        log_ratios += play(look - len(log_ratios))
        found = weigh(log_ratios, noise)
        if found.outcome is not Outcome.INCONCLUSIVE or len(log_ratios) < look:
            break
    return found


class Duel:
    """Compares two kernels on the nominal calls of a deck on which both, or kernels like them, were found right."""

    def __init__(
        self,
        problem: Problem,
        language: Language,
        protocol: Protocol,
        lane: Lane,
        deck: Deck,
        sets: list[BufferSet],
        *,
        walls: Callable[[Path], Walls | None] = lambda library: None,
        noise: float | None = None,
        without: Checks = NONE,
    ) -> None:
        """`walls` are what a built kernel is kept behind, `noise` is the device's; `without` is for the audit alone."""
        self.problem = problem
        self.language = language
        self.protocol = protocol
        self.lane = lane
        self.calls = [call for call in (*deck.calls, *deck.spares) if call.nominal]
        self.sets = sets
        self.walls = walls
        self.noise = noise
        self.without = without
        self.chance = random.SystemRandom()
        self.blocks: list[Block] = []

    def run(self, first: Path, second: Path) -> Duelled:
        """Raises Failed where one of them crashes, hangs, is wrong, or has readings that cannot be believed."""
        for library in (first, second):
            if reason := imports.refused(library, self.language, self.problem, self.without):
                raise Failed(Status.BROKE_CONTRACT, reason)
        end = time.monotonic() + SHARE * self.protocol.deadline_seconds
        with single_threaded():
            found = settle(lambda count: self._sit(first, second, count, end), self.noise)
        self._refuse_doubts()
        return found

    def _sit(self, first: Path, second: Path, count: int, end: float) -> list[float]:
        """So many blocks in fresh processes, as long as there is time.

        Where its memory happens to lie may make a process slow for good, so every look has processes of its own.
        """
        before = len(self.blocks)
        checked = self.chance.sample(range(count), min(CHECKED, count))
        with self._alive(first) as one, self._alive(second) as other:
            self._block(one, other, checked=False)  # threads start, and pages are touched
            for number in range(count):
                if len(self.blocks) >= FEWEST_BLOCKS and time.monotonic() > end:
                    break
                self.blocks.append(self._block(one, other, checked=number in checked))
        return [log_ratio(block) for block in self.blocks[before:]]

    @contextmanager
    def _alive(self, library: Path) -> Iterator[Candidate]:
        call = self.calls[0]
        for index in range(len(self.sets)):  # the CUDA worker runs a candidate once while it starts
            self._fill(index, call)
        self.lane.prepare(library)
        around = self.walls(library)
        about = (self.problem, self.protocol, self.lane, self.sets, library)
        with Candidate(*about, call.scalars, around, self.without) as candidate:
            yield candidate

    def _block(self, one: Candidate, other: Candidate, *, checked: bool) -> Block:
        first, second = self._pair(one, other, checked=checked)
        last, before = self._pair(other, one, checked=checked)
        return (first, second), (before, last)

    def _pair(self, one: Candidate, other: Candidate, *, checked: bool) -> tuple[Turn, Turn]:
        """Both on one call, and in the same places."""
        calls = [call for call in self.calls if call.checked] if checked else self.calls
        call, index = self.chance.choice(calls), self.chance.randrange(len(self.sets))
        return self._turn(one, call, index, checked=checked), self._turn(other, call, index, checked=checked)

    def _turn(self, candidate: Candidate, call: Call, index: int, *, checked: bool) -> Turn:
        candidate.prepare(index, call.scalars)
        crossing = candidate.crossing()
        self._fill(index, call)
        time.sleep(self.lane.settle_seconds)
        reading = candidate.launch(index, call.scalars)
        if checked:
            self._check(call, index)
        return Turn(reading.inside, reading.outside, crossing)

    def _fill(self, index: int, call: Call) -> None:
        self.sets[index].fill(call.values, self.without)
        self.lane.join()

    def _check(self, call: Call, index: int) -> None:
        found = verify.check(self.problem, call.stratum, call.answers, self.sets[index].outputs(), self.without)
        self.lane.join()
        if found.failure:
            raise Failed(Status.WRONG, found.failure)

    def _refuse_doubts(self) -> None:
        """A worker that says less than what is seen from outside would win any duel."""
        if Check.CLOCKS in self.without:
            return
        for turns in zip(*(pair for block in self.blocks for pair in block), strict=True):
            inside, outside, crossing = zip(*((one.inside, one.outside, one.crossing) for one in turns), strict=True)
            if doubt := clock.disagreement(Timing(inside), Timing(outside), Timing(crossing)):
                raise Failed(Status.SUSPECT, doubt)
