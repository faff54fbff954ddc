"""Judge candidates of one problem: build, verify, time."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from treesearch.evaluation import build, cache, device, inputs
from treesearch.evaluation.baselines import Baselines
from treesearch.evaluation.buffers import BufferSet
from treesearch.evaluation.build import Built
from treesearch.evaluation.inputs import Deck
from treesearch.evaluation.trial import Failed, Outcome, Trial
from treesearch.languages import Language
from treesearch.problem.reference import Reference
from treesearch.records import Build, Evaluation, Problem, Protocol, Status

BUFFER_SETS = 2
"""Sets of buffers that calls rotate over, so that neither contents nor addresses alone identify a call."""


@dataclass(frozen=True)
class Bench:
    """What all candidates of an evaluator share: the deck, the buffers, the baselines."""

    deck: Deck
    sets: list[BufferSet]
    baselines: Baselines

    @classmethod
    def set_up(cls, problem: Problem, protocol: Protocol, seed: int) -> Self:
        with cache.building():
            deck = inputs.draw(problem, Reference(problem.name, problem.source), protocol, seed)
            sets = [BufferSet(problem.signature) for _ in range(BUFFER_SETS)]
            for buffers in sets:
                buffers.fill(deck.calls[0].values)
            return cls(deck, sets, Baselines(problem, protocol, sets, deck.calls[0]))

    def close(self) -> None:
        self.baselines.close()
        for buffers in self.sets:
            buffers.close()


class Evaluator:
    """Judges candidates of one problem in one language on this machine, on one deck of inputs.

    `build` is safe from several threads; `judge` runs one candidate at a time, with the machine to itself.
    The reference, the expected outputs and the checker stay in this process; a candidate runs in a process
    of its own that sees only its buffers.
    """

    def __init__(
        self,
        problem: Problem,
        language: Language,
        protocol: Protocol,
        *,
        seed: int | None = None,
        announce: Callable[[str], None] = lambda what: None,
    ) -> None:
        """`seed` fixes the deck of inputs; by default nobody can know it beforehand.

        The deck and the baselines are made for the first candidate that builds; `announce` is told so, since
        it takes a while.
        """
        build.sweep()
        self.problem = problem
        self.language = language
        self.protocol = protocol
        self.device = device.cpu()
        self.software = device.software(language, build.compiler(language))
        self._seed = secrets.randbits(62) if seed is None else seed
        self._announce = announce
        self._bench: Bench | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._bench is not None:
            self._bench.close()
            self._bench = None

    def evaluate(self, source: str | None) -> Evaluation:
        """Build and judge one source; None stands for an answer without code."""
        if source is None:
            return self.no_code()
        return self.judge(self.build(source))

    def no_code(self) -> Evaluation:
        return self._evaluation(Status.NO_CODE, None, "the answer holds no code block with a launch function")

    def build(self, source: str) -> Built:
        return build.build(self.problem, self.language, source)

    def judge(self, built: Built) -> Evaluation:
        """Verify and time a build. Whatever the candidate does, the result is an evaluation.

        Raises MachineError where the reference itself, or the process that times it, fails.
        """
        if built.library is None:
            return self._evaluation(Status.BUILD_FAILED, built.record, built.error)
        started = time.monotonic()
        try:
            bench = self._ready_bench()
            started = time.monotonic()
            outcome = self._try(bench, built.library)
            if outcome.doubt:  # a busy machine casts doubt as well: look once more before saying so
                outcome = self._try(bench, built.library)
        except Failed as failure:
            return self._evaluation(failure.status, built.record, failure.error, time.monotonic() - started)
        status = Status.SUSPECT if outcome.doubt else Status.VERIFIED
        return self._evaluation(status, built.record, outcome.doubt, time.monotonic() - started, outcome)

    def _try(self, bench: Bench, library: Path) -> Outcome:
        with cache.timing():
            return Trial(self.problem, self.protocol, bench.deck, bench.sets, bench.baselines).run(library)

    def _ready_bench(self) -> Bench:
        if self._bench is None:
            self._announce("drawing inputs and float64 answers, compiling the torch.compile baseline")
            self._bench = Bench.set_up(self.problem, self.protocol, self._seed)
        return self._bench

    def _evaluation(
        self, status: Status, record: Build | None, error: str, seconds: float = 0.0, outcome: Outcome | None = None
    ) -> Evaluation:
        return Evaluation(
            status=status,
            device=self.device.id,
            protocol=self.protocol,
            error=error,
            accuracy=outcome.accuracy if outcome else None,
            measurement=outcome.measurement if outcome else None,
            build=record,
            software=self.software,
            seed=self._seed if self._bench else 0,
            seconds=seconds + (record.seconds if record else 0.0),
        )
