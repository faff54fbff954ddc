"""Samples that a trial takes while the device holds its clock down do not count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from treesearch import languages
from treesearch.evaluation import device, lanes
from treesearch.evaluation.bench import Bench
from treesearch.evaluation.build import build
from treesearch.evaluation.trial import KERNEL, Trial
from treesearch.records import Conditions, Problem, Protocol

PROTOCOL = Protocol(1e-2, deadline_seconds=20, threads=2, nominal_calls=4, repeats=3)


class Hot:
    """A device that holds its clock down in the groups of these numbers; `order` is what it was asked."""

    def __init__(self, slow: frozenset[int]) -> None:
        self.slow = slow
        self.order: list[str] = []

    @property
    def held(self) -> Sequence[bool]:
        return [number in self.slow for number in range(self.order.count("after"))]

    def before(self) -> None:
        self.order.append("before")

    def after(self) -> None:
        self.order.append("after")

    def summary(self) -> Conditions:
        return Conditions(throttled=len(self.slow), reasons=("power cap",))


@pytest.fixture(scope="module")
def bench(compiler: str, tiny_problem: Problem) -> Iterator[Bench]:
    made = Bench.set_up(tiny_problem, PROTOCOL, lanes.of(device.cpu()), seed=7)
    yield made
    made.close()


@pytest.mark.compiler
def test_throttled_samples_of_kernel_and_baselines_are_left_out(
    bench: Bench, tiny_problem: Problem, honest: str
) -> None:
    hot = Hot(frozenset({0, 5, 11}))
    lane = replace(lanes.of(device.cpu()), conditions=lambda: hot)
    trial = Trial(tiny_problem, languages.CPP, PROTOCOL, lane, bench.deck, bench.sets, bench.baselines)
    library = build(tiny_problem, languages.CPP, honest).library
    assert library is not None
    measured = trial.run(library).measurement
    taken = hot.order.count("after")
    assert hot.order == ["before", "after"] * taken
    assert taken >= 12
    left = {len(measured.kernel.samples), len(measured.eager.samples), len(trial.outside), len(trial.crossings)}
    assert left == {taken - 3}
    assert len(trial.samples[KERNEL]) == taken - 3
    assert measured.conditions == Conditions(throttled=3, reasons=("power cap",))
