"""Judge candidates of one problem: build, verify, time."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from treesearch import feedback
from treesearch.evaluation import build, cache, checks, device, floor, imports, lanes, target, walls
from treesearch.evaluation.bench import Bench
from treesearch.evaluation.build import Built
from treesearch.evaluation.candidate import Failed
from treesearch.evaluation.checks import Check, Checks
from treesearch.evaluation.duel import Duel, Duelled
from treesearch.evaluation.lanes import Lane
from treesearch.evaluation.open import build as modules
from treesearch.evaluation.trial import Attempted, Outcome, Trial
from treesearch.evaluation.walls import Walls
from treesearch.feedback import Seen
from treesearch.languages import Language
from treesearch.languages.sass import MBARRIER, NAMED_BARRIER
from treesearch.records import Device, Evaluation, Label, Problem, Protocol, Status

SECOND_LOOKS = 2
"""How often a kernel is tried again whose time is in doubt, or whose launches in a row took longer than single ones."""
INSPECTION_SECONDS, PATIENT_SECONDS = 20.0, 120.0
"""What a sanitizer may take for a kernel that is among the fastest so far, and for one whose figures are published: to
look for races takes a minute in some, all else a few seconds."""
EXTENDED = 3
"""Deadlines that a kernel is given where the audit does without one."""


class Evaluator:
    """Judges candidates of one problem in one language on this machine, on one deck of inputs.

    `build` is safe from several threads; `judge` runs one candidate at a time, with the machine to itself.
    The reference, the expected outputs and the checker stay in this process; a candidate runs in a process
    of its own that sees only its buffers.
    """

    builds_here = True
    """What it judges it has built, here."""

    def __init__(
        self,
        problem: Problem,
        language: Language,
        protocol: Protocol,
        hardware: Device | None = None,
        *,
        seed: int | None = None,
        announce: Callable[[str], None] = lambda what: None,
        promoted: int = 1,
        thorough: bool = False,
        without: Checks = checks.NONE,
    ) -> None:
        """`hardware` is this machine's device for the language, which is looked up where it is not given. `seed` fixes
        the deck of inputs; by default nobody can know it beforehand. A kernel that is among the `promoted` fastest so
        far is looked at with a sanitizer, where there is one, and compared with its parent. `thorough` is for figures
        to publish: torch is timed under other settings as well. `without` leaves checks out, for the audit alone.

        The deck and the baselines are made for the first candidate that builds; `announce` is told so, since
        it takes a while.
        """
        build.sweep()
        self.problem = problem
        self.language = language
        self.protocol = protocol
        self.device = hardware or target.at_hand(language).device
        self.software = device.software(language, build.compiler(language), self.device)
        self._fixed_seed = seed
        self._seed = _drawn() if seed is None else seed
        self._announce = announce
        self._promoted = promoted
        self._thorough = thorough
        self._without = without
        self._times: list[float] = []
        """Milliseconds of the kernels that were verified."""
        self._stale = False
        self._lane: Lane | None = None
        self._bench: Bench | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._bench is not None and self._lane is not None:
            self._bench.close()
            self._bench = None
            self._seed = _drawn() if self._fixed_seed is None else self._fixed_seed  # for whoever is judged after all
            self._lane.trim()

    def evaluate(self, source: str | None) -> Evaluation:
        """Build and judge one source; None stands for an answer without code."""
        if source is None:
            return self.no_code()
        return self.judge(self.build(source))

    def prepare(self) -> None:
        """Have everything ready that judging takes beside a build: the first judgement would, and while kernels are
        being built there is time for it. Raises MachineError as `judge` does."""
        self._ready_bench()

    def redraw(self) -> None:
        """Judge on another deck from here on, unless the seed is fixed, so that no verdict tells of the next."""
        self._stale = self._fixed_seed is None and self._bench is not None

    def no_code(self) -> Evaluation:
        return self._evaluation(Status.NO_CODE, None, f"the answer holds no code block with {self.language.entry.name}")

    def build(self, source: str) -> Built:
        make = build.build if self.language.sealed else modules.build
        return make(self.problem, self.language, source, self.device.architecture, self._without)

    def judge(self, built: Built, *, parent: Built | None = None, incumbent: float | None = None) -> Evaluation:
        """Verify and time a build. Whatever the candidate does, the result is an evaluation.

        One that may seed a round is launched in turn with `parent`, which it was made from. One that is clearly slower
        than `incumbent` (ms) is timed with few samples. Raises MachineError where the reference itself, or the process
        that times it, fails.
        """
        attempted = self.attempt(built, incumbent)
        closely = attempted.sound and self._promotes(attempted.milliseconds)
        judged = self.conclude(attempted, parent, closely=closely)
        if closely and judged.status is not Status.VERIFIED:
            self._times.remove(attempted.milliseconds)
        return judged

    def attempt(self, built: Built, incumbent: float | None = None) -> Attempted:
        """The first half of `judge`, for whoever sees many kernels before it is known which of them matter."""
        if built.library is None:
            return Attempted(built, Status.BUILD_FAILED, built.error)
        started = time.monotonic()
        try:
            bench = self._ready_bench()
            started = time.monotonic()
            outcome = self._try(bench, built.library, incumbent)
            for _ in range(SECOND_LOOKS):  # a busy machine does that as well
                if outcome.blemish:
                    outcome = min(outcome, self._try(bench, built.library, incumbent), key=lambda one: one.blemish)
        except Failed as failure:
            return Attempted(built, failure.status, failure.error, time.monotonic() - started)
        status = Status.SUSPECT if outcome.doubt else Status.VERIFIED
        return Attempted(built, status, outcome.doubt, time.monotonic() - started, outcome)

    def inspect(self, attempted: Attempted) -> Attempted:
        """The same attempt, if it was found right with what a sanitizer says of it.

        Races are not looked for where a report of one would prove nothing, unless the figures are to be published:
        that no race was found is worth half a minute of a winner's time, and not of every kernel's.
        """
        if not attempted.sound or attempted.built.library is None or Check.SANITIZER in self._without:
            return attempted
        assert self._lane is not None, "it was made with the bench"
        started = time.monotonic()
        mbarriers, named = (any(mix.has(kind) for mix in attempted.built.mixes) for kind in (MBARRIER, NAMED_BARRIER))
        with cache.timing(self._lane.lock):
            seconds = PATIENT_SECONDS if self._thorough else INSPECTION_SECONDS
            races = self._thorough or not (mbarriers or named)
            said = self._lane.inspect(attempted.built.library, self.problem, seconds, races)
        said = said.among_mbarriers() if mbarriers else said
        said = said.among_named_barriers() if named else said
        return replace(attempted, sanitized=said, seconds=attempted.seconds + time.monotonic() - started)

    def conclude(self, attempted: Attempted, parent: Built | None = None, *, closely: bool = False) -> Evaluation:
        """The other half: the evaluation. What was found right may be looked at `closely`, as if promoted: by a
        sanitizer, where none has been at it, beside its parent, and by a profiler."""
        if closely and attempted.sanitized is None:
            attempted = self.inspect(attempted)
        built, outcome, started = attempted.built, attempted.outcome, time.monotonic()
        if built.library is None or outcome is None:
            return self._evaluation(attempted.status, built, attempted.error, attempted.seconds)
        if attempted.sanitized is not None:
            outcome = outcome.inspected(attempted.sanitized)
        if closely and attempted.sound:
            outcome = self._profiled(built.library, self._compared(built, parent, outcome))
        status = Status.SUSPECT if outcome.doubt else Status.VERIFIED
        seconds = attempted.seconds + time.monotonic() - started
        labels = self._labels(built.library, outcome)
        return self._evaluation(status, built, outcome.doubt, seconds, outcome, labels)

    def remeasure(self, sources: Sequence[str]) -> Iterator[Evaluation]:
        """Measure kernels once more, for figures to publish: an evaluation of each source, in order, as each is done.

        Processes, inputs and the order of calls are new, so that nothing of the luck that had a kernel picked among
        many is in its figures; beside eager and torch.compile there is torch under other settings
        (`Measurement.configurations`). A kernel whose time is doubted is measured once more, on other inputs.
        Raises MachineError where the reference itself, or a process that times it, fails.
        """
        self.close()  # its buffers and processes, which would be in the way
        about = (self.problem, self.language, self.protocol, self.device)
        with (
            Evaluator(*about, announce=self._announce, promoted=len(sources), thorough=True) as anew,
            build.builders() as pool,
        ):
            builds = [pool.submit(anew.build, source) for source in sources]
            anew.prepare()
            for built in builds:
                evaluation = anew.judge(built.result())
                if evaluation.status is Status.SUSPECT:  # a machine that is busy for a while does that as well
                    anew.redraw()
                    evaluation = anew.judge(built.result())
                yield evaluation

    def duel(self, first: Built, second: Built) -> Duelled | str:
        """Which of two builds is faster, launched in turn, or why that cannot be said.

        Both have been found right. Raises MachineError where the reference itself fails.
        """
        if first.library is None or second.library is None:
            return "one of them does not build"
        bench = self._ready_bench()
        assert self._lane is not None, "it was made with the bench"
        about = (self.problem, self.language, self._timed_protocol(), self._lane, bench.deck, bench.sets)
        made = Duel(*about, walls=self._walls, without=self._without)
        try:
            with cache.timing(self._lane.lock):
                return made.run(first.library, second.library)
        except Failed as failure:
            return failure.error

    def _try(self, bench: Bench, library: Path, incumbent: float | None) -> Outcome:
        assert self._lane is not None, "it was made with the bench"
        with cache.timing(self._lane.lock):
            self._lane.prepare(library)
            about = (self.problem, self.language, self._timed_protocol(), self._lane)
            parts = (bench.deck, bench.sets, bench.baselines)
            trial = Trial(
                *about,
                *parts,
                more_sets=bench.more_sets,
                walls=self._walls(library),
                incumbent=incumbent,
                without=self._without,
            )
            return trial.run(library)

    def _walls(self, library: Path) -> Walls:
        """What a built candidate is kept behind."""
        assert self._lane is not None, "it was made with the bench"
        return replace(self._lane.walls(library), without=self._without)

    def _promotes(self, milliseconds: float) -> bool:
        """Whether a kernel is one of the fastest so far, so that it may seed a round."""
        faster = sum(other <= milliseconds for other in self._times)
        self._times.append(milliseconds)
        return faster < self._promoted

    def _compared(self, built: Built, parent: Built | None, outcome: Outcome) -> Outcome:
        """With how much faster a promoted kernel is than its parent, where both can be compared.

        A duel is of single launches; a kernel whose time is that of launches in a row has none.
        """
        if parent is None or outcome.blemish:
            return outcome
        found = self.duel(built, parent)
        if isinstance(found, str):
            return outcome
        return replace(outcome, measurement=replace(outcome.measurement, parent_speedup=found.ratio))

    def _profiled(self, library: Path, outcome: Outcome) -> Outcome:
        """With the GPU's own counters of a promoted kernel, where they may be read."""
        assert self._lane is not None, "it was made with the bench"
        if outcome.doubt:
            return outcome
        with cache.timing(self._lane.lock):
            return replace(outcome, metrics=self._lane.profile(library, self.problem))

    def _timed_protocol(self) -> Protocol:
        times = EXTENDED if Check.DEADLINE in self._without else 1
        return replace(self.protocol, deadline_seconds=times * self.protocol.deadline_seconds)

    def _ready_bench(self) -> Bench:
        if self._bench is None:
            self._announce("drawing inputs and float64 answers, compiling the torch.compile baseline")
            if warning := walls.available(self.device.kind == "cuda").warning:
                self._announce(f"warning: {warning}")
            lane = lanes.of(self.device, self.software[0])
            self._lane = lane if self.language.sealed else lanes.opened(lane, self.problem, self.device)
            about = (self.problem, self.protocol, self._lane, self._seed, self._without)
            self._bench = Bench.set_up(*about, thorough=self._thorough)
        elif self._stale and self._lane is not None:
            self._stale, self._seed = False, _drawn()
            self._bench.redraw(self.problem, self.protocol, self._lane, self._seed, self._without)
        return self._bench

    def _evaluation(
        self,
        status: Status,
        built: Built | None,
        error: str,
        seconds: float = 0.0,
        outcome: Outcome | None = None,
        labels: tuple[Label, ...] = (),
    ) -> Evaluation:
        record = built.record if built else None
        judged = Evaluation(
            status=status,
            device=self.device.id,
            protocol=self.protocol,
            error=error,
            accuracy=outcome.accuracy if outcome else None,
            measurement=outcome.measurement if outcome else None,
            build=record,
            software=self.software,
            seed=self._seed if self._bench and built and built.library else 0,
            seconds=seconds + (record.seconds if record else 0.0),
            labels=labels,
            sandbox=walls.available(self.device.kind == "cuda").description if record else "",
        )
        mixes = built.mixes if built else ()
        seen = Seen(mixes, outcome.launches, outcome.metrics) if outcome else Seen(mixes)
        return replace(judged, profile=feedback.text(self.problem, self.language, self.device, judged, seen))

    def _labels(self, library: Path, outcome: Outcome) -> tuple[Label, ...]:
        found = [*outcome.labels]
        if not self.language.sealed:
            found.append(Label.OPEN)
        elif imports.calls_library(library, self.problem):
            found.append(Label.LIBRARY)
        if floor.algorithmic(self.problem, outcome.measurement.kernel.median, self.device):
            found.append(Label.ALGORITHMIC)
        if self._bench is not None and self._bench.deck.fixed:
            found.append(Label.FIXED_INPUTS)
        return tuple(found)


def _drawn() -> int:
    """A seed that nobody can know beforehand."""
    return secrets.randbits(62)
