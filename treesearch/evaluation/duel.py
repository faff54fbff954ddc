"""Two kernels of one problem, launched in turn: which of them is faster, and how sure that is.

Times that were taken minutes apart differ by what the machine did meanwhile. Here both kernels are alive at once, each
in a worker of its own and stopped unless it is asked, and take turns on the same contents in the order ABBA: a drift,
and whatever the second place costs, falls on both alike. An outcome ranks kernels; it changes no verdict.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from treesearch.evaluation import clock, imports, verify, weighing
from treesearch.evaluation.buffers import BufferSet
from treesearch.evaluation.calls import Call
from treesearch.evaluation.candidate import Candidate, Failed
from treesearch.evaluation.checks import NONE, Check, Checks
from treesearch.evaluation.inputs import Deck
from treesearch.evaluation.lanes import Lane
from treesearch.evaluation.threads import single_threaded
from treesearch.evaluation.walls import Walls
from treesearch.languages import Language
from treesearch.records import Outcome, Problem, Protocol, Ratio, Status, Timing

BLOCKS = 18
"""Of two pairs, in each sitting: as many launches as a deck usually has nominal calls, so that none comes twice."""
FEWEST_BLOCKS = 2
"""In a sitting of slow kernels."""
SITTING_SHARE = 1 / 8
"""Of the deadline, after which a sitting has no more than the fewest blocks. The deadline is the whole duel's."""


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

    @property
    def taken(self) -> float:
        """The worker's reading, or what is seen from outside where that is longer for certain: a few forged readings
        among many would be the quickest."""
        seen = self.outside - self.crossing
        return max(self.inside, seen - clock.margin(self.inside, self.crossing))


Pair = tuple[Turn, Turn]
"""The first kernel's turn and the second's, whichever came first."""


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
        without: Checks = NONE,
    ) -> None:
        """`walls` are what a built kernel is kept behind; `without` is for the audit alone."""
        self.problem = problem
        self.language = language
        self.protocol = protocol
        self.lane = lane
        self.first, *others = [call for call in (*deck.calls, *deck.spares) if call.nominal]
        """What kernels see while they start; none sees it again, since one could keep the answer."""
        self.calls = others or [self.first]
        self.sets = sets
        self.walls = walls
        self.without = without
        self.chance = random.SystemRandom()
        self.sittings: list[list[Pair]] = []

    def run(self, first: Path, second: Path) -> Duelled:
        """Raises Failed where one of them crashes, hangs, is wrong, or has readings that cannot be believed."""
        for library in (first, second):
            if reason := imports.refused(library, self.language, self.problem, self.without):
                raise Failed(Status.BROKE_CONTRACT, reason)
        end = time.monotonic() + self.protocol.deadline_seconds
        with single_threaded():
            ratio = weighing.settle(lambda: self._sit(first, second), late=lambda: time.monotonic() > end)
        self._refuse_doubts()
        return Duelled(ratio, sum(map(len, self.sittings)), weighing.outcome(ratio))

    def _sit(self, first: Path, second: Path) -> float:
        """The log ratio of their times in fresh processes.

        Where its memory happens to lie, or that it was started second, may make a process slow for good.
        """
        swapped = len(self.sittings) % 2 == 1
        with self._alive(*((second, first) if swapped else (first, second))) as (early, late):
            pairs = self._pairs(late, early) if swapped else self._pairs(early, late)
        self.sittings.append(pairs)
        turns = [one.taken for one, _ in pairs], [other.taken for _, other in pairs]
        return weighing.log_ratio(*turns, interrupted=self.lane.device == "cpu")

    def _pairs(self, one: Candidate, other: Candidate) -> list[Pair]:
        """So many blocks in the order ABBA, as long as there is time."""
        end, calls = time.monotonic() + SITTING_SHARE * self.protocol.deadline_seconds, self._drawn()
        self._block(one, other, calls)  # threads start, and pages are touched
        pairs: list[Pair] = []
        for number in range(BLOCKS):
            if number >= FEWEST_BLOCKS and time.monotonic() > end:
                break
            pairs += self._block(one, other, calls)
        return pairs

    def _drawn(self) -> Iterator[Call]:
        """Calls in an order drawn by lot, none of them again before all had their turn."""
        while True:
            yield from self.chance.sample(self.calls, len(self.calls))

    @contextmanager
    def _alive(self, *libraries: Path) -> Iterator[list[Candidate]]:
        """A process of each. They start side by side; neither is asked anything until all are ready, nor loaded until
        it is known what asking them takes."""
        for library in libraries:
            self.lane.prepare(library)
        with ExitStack() as alive:
            candidates = [alive.enter_context(self._started(library)) for library in libraries]
            for candidate in candidates:
                candidate.wait()
            for candidate in candidates:
                candidate.calibrate(bursts=False)
            for candidate in candidates:
                for index in range(len(self.sets)):
                    self._fill(index, self.first)
                candidate.load()
            yield candidates

    def _started(self, library: Path) -> Candidate:
        about = (self.problem, self.protocol, self.lane, self.sets, library)
        return Candidate(*about, self.first.scalars, self.walls(library), self.without)

    def _block(self, one: Candidate, other: Candidate, calls: Iterator[Call]) -> tuple[Pair, Pair]:
        first, second = self._pair(one, other, next(calls))
        last, before = self._pair(other, one, next(calls))
        return (first, second), (before, last)

    def _pair(self, early: Candidate, late: Candidate, call: Call) -> tuple[Turn, Turn]:
        """Both on one call, and in the same places."""
        index = self.chance.randrange(len(self.sets))
        return self._turn(early, call, index), self._turn(late, call, index)

    def _turn(self, candidate: Candidate, call: Call, index: int) -> Turn:
        candidate.prepare(index, call.scalars)
        crossing = candidate.crossing()
        candidate.announce(index, call.scalars)
        self._fill(index, call)
        time.sleep(self.lane.settle_seconds)
        reading = candidate.launch()
        if call.checked:
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
        for turns in zip(*chain.from_iterable(self.sittings), strict=True):
            inside, outside, crossing = zip(*((one.inside, one.outside, one.crossing) for one in turns), strict=True)
            if doubt := clock.disagreement(Timing(inside), Timing(outside), Timing(crossing)):
                raise Failed(Status.SUSPECT, doubt)
