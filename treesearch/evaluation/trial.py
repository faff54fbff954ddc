"""One candidate on the deck: every call checked once, and the nominal ones timed along with spares."""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from treesearch.evaluation import clock, conditions, imports, verify, visits
from treesearch.evaluation.baselines import Baselines
from treesearch.evaluation.buffers import BufferSet, Left, copied
from treesearch.evaluation.build import Built
from treesearch.evaluation.calls import Call
from treesearch.evaluation.candidate import Candidate, Failed, Reading
from treesearch.evaluation.checks import NONE, Check, Checks
from treesearch.evaluation.inputs import Deck
from treesearch.evaluation.lanes import Lane
from treesearch.evaluation.sanitized import Sanitized
from treesearch.evaluation.threads import single_threaded
from treesearch.evaluation.visits import Visit
from treesearch.evaluation.walls import Walls
from treesearch.feedback import Launch, Metric
from treesearch.languages import Language
from treesearch.records import Accuracy, Label, Measurement, Problem, Protocol, Ratio, Status, Timing

REPEAT_SHARE = 0.5
"""Share of the deadline after which calls that were already seen are not repeated."""
SCREENED = 4
"""Nominal samples after which a kernel can turn out to be clearly slower than the incumbent."""
CLEARLY_SLOWER = 3.0
"""Times the incumbent's median that even the fastest of them then takes."""
LEFT = {Left.POISON: 0.4, Left.OWN: 0.25, Left.SCRAMBLED: 0.2, Left.ZEROS: 0.15}
"""How often a launch finds what in its outputs. A kernel that writes only over poison would be right on poison alone,
and wrong for its users; so would one that writes over its own answers as well, and over nothing else."""
KERNEL = "kernel"


@dataclass(frozen=True)
class Outcome:
    """A candidate that was right on every checked call. `doubt` says why its time cannot be believed, if so."""

    accuracy: Accuracy
    measurement: Measurement
    doubt: str
    labels: tuple[Label, ...] = ()
    launches: tuple[Launch, ...] = ()
    metrics: tuple[Metric, ...] = ()

    @property
    def blemish(self) -> int:
        """0 for a time that stands as it was read; the higher, the worse."""
        return 2 if self.doubt else int(Label.BACK_TO_BACK in self.labels)

    def inspected(self, said: Sanitized) -> Outcome:
        """With what a sanitizer said."""
        if said.doubt:
            return replace(self, doubt=f"compute-sanitizer: {said.doubt}")
        return self if said.not_run else replace(self, labels=(*self.labels, Label.SANITIZED))


@dataclass(frozen=True)
class Attempted:
    """A build that was verified and timed, or why it was not."""

    built: Built
    status: Status
    error: str
    seconds: float = 0.0
    outcome: Outcome | None = None
    sanitized: Sanitized | None = None
    """What a sanitizer said, where one was asked beforehand."""

    @property
    def sound(self) -> bool:
        """Whether it was found right, and its time is not in doubt."""
        return self.status is Status.VERIFIED

    @property
    def milliseconds(self) -> float:
        """Median of the measured times; infinity where there are none."""
        return self.outcome.measurement.kernel.median if self.outcome else math.inf


class Trial:
    """Runs one candidate in a worker of its own, timing the baselines in turn with it on the same contents."""

    def __init__(
        self,
        problem: Problem,
        language: Language,
        protocol: Protocol,
        lane: Lane,
        deck: Deck,
        sets: list[BufferSet],
        baselines: Baselines,
        *,
        more_sets: Sequence[BufferSet] = (),
        walls: Walls | None = None,
        incumbent: float | None = None,
        without: Checks = NONE,
    ) -> None:
        """`more_sets` are for bursts, each launch of which has a set and contents of its own. `walls` are what the
        candidate is kept behind. A candidate that is clearly slower than `incumbent` (ms) is checked as
        any other, but not timed on calls that it was not checked on. `without` leaves checks out, for the audit alone.
        """
        self.lane = lane
        self.problem = problem
        self.language = language
        self.protocol = protocol
        self.deck = deck
        self.shared = len(sets)
        """So many of the sets are the baselines' as well; the others are for bursts alone."""
        self.sets = [*sets, *more_sets]
        self.baselines = baselines
        self.walls = walls
        self.incumbent = incumbent
        self.without = without
        self.chance = random.SystemRandom()
        self.samples: dict[str, list[float]] = {KERNEL: [], **{kind: [] for kind in baselines.kinds}}
        self.outside: list[float] = []
        """The controller's own readings (ms), one for each in samples[KERNEL]."""
        self.crossings: list[float] = []
        """What the controller reads (ms) around a question that launches nothing, one for each as well."""
        self.stressed: list[float] = []
        """The worker's readings (ms) of stressed calls, one of each kind."""
        self.warm: list[float] = []
        """The worker's readings (ms) of launches whose data the caches may still hold."""
        self.bursts: list[clock.Burst] = []
        self.busy: list[bool] = []
        """Whether the candidate was at work while nothing was asked of it, each time that it was looked at."""
        self.around = lane.conditions()
        """What looks at the machine around each nominal call, of which each gives one sample of every subject."""
        self.answered: dict[int, Call] = {}
        """The call whose answers the candidate has left in a set's outputs."""
        self.varying = False
        self.checks: list[verify.Checked] = []
        self.launches: tuple[Launch, ...] = ()
        """What one launch consists of, where the worker can tell."""

    def run(self, library: Path) -> Outcome:
        """Raises Failed where the candidate crashes, hangs, breaks the contract or is wrong."""
        started, share = time.monotonic(), REPEAT_SHARE * self.protocol.deadline_seconds
        if reason := imports.refused(library, self.language, self.problem, self.without):
            raise Failed(Status.BROKE_CONTRACT, reason)
        with single_threaded(), self._alive(library) as candidate:
            for visit in visits.plan(self.deck, self.lane, self.protocol, self.chance, self.without):
                late = time.monotonic() - started > share
                if visit.call.checked or not (late or self._outclassed()):
                    self._visit(candidate, visit, late)
            if brought := ", ".join(candidate.brought_along()):
                raise Failed(Status.BROKE_CONTRACT, f"its process may execute {brought}, which it does not name")
        if 2 * sum(self.busy) > len(self.busy):
            raise Failed(Status.BROKE_CONTRACT, "work goes on after launch has returned")
        self._leave_out_throttled()
        single = Timing(tuple(self.samples[KERNEL]))
        kernel = clock.slowed(single, self.bursts)
        found = {Label.VARYING: self.varying, Label.BACK_TO_BACK: kernel != single}
        labels = tuple(label for label, holds in found.items() if holds)
        return Outcome(self._accuracy(), self._measurement(kernel), self._doubt(single), labels, self.launches)

    def _leave_out_throttled(self) -> None:
        """Samples that were taken while the device held its clock down do not count, the baselines' no more than the
        kernel's."""
        series = [*self.samples.values(), self.outside, self.crossings]
        for samples, counting in zip(series, conditions.counting(self.around.held, *series), strict=True):
            samples[:] = counting

    def _outclassed(self) -> bool:
        """Whether a few samples show already that the candidate is clearly slower than the incumbent."""
        samples = self.samples[KERNEL]
        if self.incumbent is None or len(samples) < SCREENED:
            return False
        return min(samples) > CLEARLY_SLOWER * self.incumbent

    def _doubt(self, kernel: Timing) -> str:
        """Why the kernel's readings cannot be believed, or nothing."""
        outside, crossing = Timing(tuple(self.outside)), Timing(tuple(self.crossings))
        doubts = {
            Check.CLOCKS: clock.disagreement(kernel, outside, crossing),
            Check.BURSTS: clock.hidden(kernel, self.bursts),
            Check.FLOOR: clock.too_fast(kernel, self.lane.quickest(self.deck.moved_bytes)),
            Check.STRATA: clock.slower_on_stress(kernel, self.stressed),
        }
        return next((doubt for check, doubt in doubts.items() if doubt and check not in self.without), "")

    @contextmanager
    def _alive(self, library: Path) -> Iterator[Candidate]:
        about = (self.problem, self.protocol, self.lane, self.sets, library)
        first = self.deck.calls[0]
        with Candidate(*about, first.scalars, self.walls, self.without) as candidate:
            candidate.wait()
            candidate.calibrate()
            for index in range(len(self.sets)):
                self._fill(index, first.values)
            self.launches = candidate.load()
            self._check_first(first)
            yield candidate

    def _check_first(self, call: Call) -> None:
        """What a candidate has answered before it was asked anything, if it does: what it does then alone shows."""
        try:
            for index in range(self.lane.answers_first):
                self._check(call, self._snapshot(index))
        except Failed as failure:
            raise Failed(failure.status, f"called once it was loaded, {failure.error}") from None

    def _visit(self, candidate: Candidate, visit: Visit, late: bool) -> None:
        """What needs the candidate awake, its launch announced last, then new contents, then kernel and baselines in an
        order drawn by lot.

        From the moment that new contents come the candidate is stopped until its launch begins.
        """
        call, values, index = visit.call, visit.call.values, self.chance.randrange(self.shared)
        candidate.prepare(index, call.scalars)
        crossing = candidate.crossing()
        candidate.announce(index, call.scalars)
        before = self.answered.get(index, call)  # of this very call they would be right
        (left,) = self.chance.choices(list(LEFT), list(LEFT.values()))
        # Poison until something was right: so a kernel that writes nothing is told that, rather than that it is wrong.
        self._fill(index, values, left=left if self.checks and before is not call else Left.POISON)
        subjects = list(self.samples) if call.nominal else [KERNEL]
        self.chance.shuffle(subjects)
        snapshot: list[torch.Tensor] = []
        if call.nominal:
            self.around.before()
        for subject in subjects:
            time.sleep(self.lane.settle_seconds)
            if subject == KERNEL:
                self._note(call, candidate.launch(), crossing)
                self.answered[index] = call
                snapshot = self._snapshot(index) if call.checked else []
            else:
                self.samples[subject].append(self.baselines.time(subject, index, call.scalars))
        if call.nominal:
            self.around.after()
        if visit.watched:
            self.busy.append(candidate.works_unasked())
        self._refuse_damage(index, values)
        if call.checked:
            self._check(call, snapshot)
        for manner in visit.manners:
            # What a module keeps of one such call shows in the next one of the same model alone.
            self._otherwise(candidate, call, 0 if self.lane.one_model else index, manner)
        if visit.warm and not (late or self._outclassed()):
            self._warm(candidate, call, index)
        if visit.burst and not self._enough_bursts(late):
            self._repeat(candidate, call, index, snapshot)
            self._burst(candidate, visit.burst[: self._times()])

    def _note(self, call: Call, reading: Reading, crossing: float) -> None:
        if not call.nominal:
            self.stressed.append(reading.inside)
            return
        self.samples[KERNEL].append(reading.inside)
        self.outside.append(reading.outside)
        self.crossings.append(crossing)

    def _warm(self, candidate: Candidate, call: Call, index: int) -> None:
        """One more launch on contents that were just launched on, unless the controller's clock denies its reading."""
        crossing = candidate.crossing()
        second, outside = candidate.warm(index, call.scalars)
        self._refuse_damage(index, call.values)
        self._check(call, self._snapshot(index))
        if second is not None and not clock.Burst(2, outside, crossing, 2 * second).denied:
            self.warm.append(second)

    def _repeat(self, candidate: Candidate, call: Call, index: int, before: list[torch.Tensor]) -> None:
        """The same call again, which is right as well, and may be the same bit by bit."""
        candidate.announce(index, call.scalars)
        snapshot = self._again(index, call, candidate.launch)
        self.varying = self.varying or not verify.same_bits(before, snapshot)

    def _otherwise(self, candidate: Candidate, call: Call, index: int, manner: str) -> None:
        """The same call in another manner, which is right as well, unless it is refused."""
        try:
            candidate.announce_otherwise(index, call.scalars, manner)
            self._fill(index, call.values)
            self.answered[index] = call
            answered = candidate.otherwise()
            self._refuse_damage(index, call.values)
            if answered:
                self._check(call, self._snapshot(index))
        except Failed as failure:
            raise Failed(failure.status, f"called {manner}, {failure.error}") from None

    def _again(self, index: int, call: Call, make: Callable[[], object]) -> list[torch.Tensor]:
        """The answers to a call that was announced, made and checked once more."""
        self._fill(index, call.values)
        make()
        snapshot = self._snapshot(index)
        self._refuse_damage(index, call.values)
        self._check(call, snapshot)
        return snapshot

    def _burst(self, candidate: Candidate, calls: Sequence[Call]) -> None:
        """Launches in a row: their time, and whether each is right. No call has been seen before, or will be again."""
        row = dict(enumerate(calls))
        order = self.chance.sample(list(row), len(row))
        scalars = {index: row[index].scalars for index in order}
        for index in order:
            candidate.prepare(index, scalars[index])
        overhead = candidate.overhead(scalars)
        candidate.announce_burst(scalars)
        for index, call in row.items():
            self._fill(index, call.values)
            self.answered.pop(index, None)
        time.sleep(self.lane.settle_seconds)
        inside, outside = candidate.burst()
        self.bursts.append(clock.Burst(len(row), outside, overhead, inside, self.lane.uncertain))
        snapshots = {index: self._snapshot(index) for index in row}
        for index, call in row.items():
            self._refuse_damage(index, call.values)
            self._check(call, snapshots[index])

    def _times(self) -> int:
        """How many launches make a burst."""
        return min(clock.burst_times(statistics.median(self.samples[KERNEL])), len(self.sets))

    def _enough_bursts(self, late: bool = False) -> bool:
        """Whether one burst has shown what single launches did, of a candidate that is outclassed or takes long."""
        if not self.bursts:
            return False
        single = Timing(tuple(self.samples[KERNEL]))
        return (late and self._times() == 1) or (self._outclassed() and clock.slowed(single, self.bursts) == single)

    def _fill(self, index: int, values: dict[str, torch.Tensor], *, left: Left = Left.POISON) -> None:
        self.sets[index].fill(values, self.without, left=left, chance=self.chance)
        self.lane.join()

    def _snapshot(self, index: int) -> list[torch.Tensor]:
        """The outputs as they are; the candidate is stopped: what it has not written yet does not count."""
        copies = [copied(output) for output in self.sets[index].outputs()]
        self.lane.join()
        return copies

    def _refuse_damage(self, index: int, values: dict[str, torch.Tensor]) -> None:
        if damaged := self.sets[index].damage(values, self.without):
            raise Failed(Status.WRONG, f"the kernel wrote to {damaged}, which is not an output")

    def _check(self, call: Call, outputs: list[torch.Tensor]) -> None:
        checked = verify.check(self.problem, call.stratum, call.answers, outputs, self.without)
        if checked.failure:
            raise Failed(Status.WRONG, checked.failure)
        self.checks.append(checked)

    def _accuracy(self) -> Accuracy:
        worst = max(checked.worst_error for checked in self.checks)
        eager = max(checked.eager_error for checked in self.checks)
        nominal = [checked.elementwise for checked in self.checks if checked.elementwise is not None]
        precision = verify.precision(self.checks)
        return Accuracy(len(self.checks), worst, eager, self.deck.oracle, precision, max(nominal, default=None))

    def _measurement(self, kernel: Timing) -> Measurement:
        timings = {subject: Timing(tuple(samples)) for subject, samples in self.samples.items()}
        eager, compiled = timings["eager"], timings.get("compile")
        ratio: Ratio | None = clock.speedup(compiled, kernel) if compiled else None
        error, others = self.baselines.compile_error, self.baselines.configured(kernel, timings)
        return Measurement(
            kernel,
            eager,
            clock.speedup(eager, kernel),
            compiled,
            ratio,
            error,
            conditions=self.around.summary(),
            warm=statistics.median(self.warm) if self.warm else None,
            configurations=others,
        )
