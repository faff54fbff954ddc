"""What the candidates of one evaluator share, made before the first of them is judged."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

from treesearch.evaluation import cache, checks, inputs, lanes
from treesearch.evaluation.baselines import Baselines
from treesearch.evaluation.buffers import BufferSet
from treesearch.evaluation.checks import Checks
from treesearch.evaluation.inputs import Deck
from treesearch.evaluation.lanes import Lane
from treesearch.problem.reference import Reference
from treesearch.records import Problem, Protocol


@dataclass
class Bench:
    """What the candidates of an evaluator share: the buffers, the baselines, and for a while the deck."""

    deck: Deck
    sets: list[BufferSet]
    more_sets: list[BufferSet]
    """For the candidates alone."""
    baselines: Baselines

    @classmethod
    def set_up(
        cls,
        problem: Problem,
        protocol: Protocol,
        lane: Lane,
        seed: int,
        without: Checks = checks.NONE,
        *,
        thorough: bool = False,
    ) -> Self:
        """Draws the deck while the baselines' process starts and compiles."""
        reference = Reference(problem.name, problem.source, lane.device)
        with ExitStack() as made, cache.building(), cache.building(lane.lock):
            # Before the deck, which takes a share of what memory is left for keeping contents.
            sets: list[BufferSet] = []
            for _ in range(lanes.BUFFER_SETS):
                sets.append(BufferSet(problem.signature, lane.tensors, without))
                made.callback(sets[-1].close)
            sample = inputs.sample(problem, reference, seed)
            for buffers in sets:
                buffers.fill(sample.values)
            more_sets: list[BufferSet] = []
            for _ in range(lane.more_sets(problem)):
                more_sets.append(BufferSet(problem.signature, lane.tensors, without))
                made.callback(more_sets[-1].close)
            lane.join()
            baselines = Baselines(problem, protocol, lane, sets, sample.scalars, thorough=thorough)
            made.callback(baselines.close)
            del sample
            launches = len(sets) + len(more_sets)
            deck = inputs.draw(problem, reference, protocol, seed, without, launches=launches, one_model=lane.one_model)
            baselines.wait()
            baselines.configure(deck)
            bench = cls(deck, sets, more_sets, baselines)
            made.pop_all()
            return bench

    def redraw(self, problem: Problem, protocol: Protocol, lane: Lane, seed: int, without: Checks) -> None:
        del self.deck  # the new one needs its memory
        reference = Reference(problem.name, problem.source, lane.device)
        with cache.building(), cache.building(lane.lock):
            launches = len(self.sets) + len(self.more_sets)
            self.deck = inputs.draw(
                problem, reference, protocol, seed, without, launches=launches, one_model=lane.one_model
            )

    def close(self) -> None:
        self.baselines.close()
        for buffers in (*self.sets, *self.more_sets):
            buffers.close()
