"""Kernels that may seed a round are compared with what they were made from; hopeless ones are not dwelt upon."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from treesearch import languages
from treesearch.evaluation import duel, lanes, weighing
from treesearch.evaluation.bench import Bench
from treesearch.evaluation.build import Built
from treesearch.evaluation.duel import Duelled
from treesearch.evaluation.evaluator import Evaluator
from treesearch.evaluation.lanes import Lane
from treesearch.evaluation.sanitized import Sanitized
from treesearch.evaluation.trial import Outcome as Trialled
from treesearch.records import Build, Label, Outcome, Problem, Protocol, Status, Timing

DOUBTED = Sanitized("it reads far out", ("memcheck",), "", 0.1)
UNBUILDABLE = Built(None, Build("", 0.0, False, ""), "it does not")
MARKED = """
#include "problem.h"
// MARK
extern "C" int launch(const float* x, float* out, void*) {
    for (volatile int i = 0; i < 600 * WORK; ++i) {}
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
    return 0;
}
"""


def source(mark: str = "", work: int = 0) -> str:
    """A right kernel; a unit of work takes about a microsecond."""
    return MARKED.replace("MARK", mark).replace("WORK", str(work))


@pytest.fixture(scope="module")
def evaluator(compiler: str, tiny_problem: Problem) -> Iterator[Evaluator]:
    protocol = Protocol(tiny_problem.tolerance, deadline_seconds=20, threads=1, nominal_calls=4, repeats=3)
    with Evaluator(tiny_problem, languages.CPP, protocol, seed=7) as made:
        yield made


Duels = list[tuple[Path | None, Path | None]]


@pytest.fixture
def duels(evaluator: Evaluator, monkeypatch: pytest.MonkeyPatch) -> Duels:
    """What is duelled while the test runs; the evaluator has judged nothing before it."""
    fought: Duels = []
    fight = evaluator.duel

    def noted(first: Built, second: Built) -> Duelled | str:
        fought.append((first.library, second.library))
        return fight(first, second)

    monkeypatch.setattr(evaluator, "duel", noted)
    monkeypatch.setattr(evaluator, "_times", [])
    return fought


def test_a_promoted_kernel_is_compared_with_its_parent(evaluator: Evaluator, duels: Duels) -> None:
    parent, child = evaluator.build(source(work=300)), evaluator.build(source())
    verdict = evaluator.judge(child, parent=parent)
    assert duels == [(child.library, parent.library)]
    assert verdict.measurement is not None
    assert verdict.measurement.parent_speedup is not None
    assert verdict.measurement.parent_speedup.low > 1
    assert verdict.status is Status.VERIFIED


def test_a_parent_that_does_not_build_here_is_no_error(evaluator: Evaluator, duels: Duels) -> None:
    verdict = evaluator.judge(evaluator.build(source()), parent=UNBUILDABLE)
    assert verdict.measurement is not None
    assert (verdict.status, verdict.measurement.parent_speedup) == (Status.VERIFIED, None)
    assert duels


def test_without_a_parent_there_is_no_duel(evaluator: Evaluator, duels: Duels) -> None:
    verdict = evaluator.judge(evaluator.build(source()))
    assert verdict.measurement is not None
    assert verdict.measurement.parent_speedup is None
    assert duels == []


def test_only_the_fastest_so_far_are_compared(
    evaluator: Evaluator, duels: Duels, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as seed a round. Who is compared is what counts here: times are given, and duels short."""
    parent = evaluator.build(source())
    order = [600.0, 300.0, 900.0]  # the time of the first, of one faster, and of one slower than both
    kernels = {evaluator.build(source(f"{time}")).library: time for time in order}
    assert parent.library is not None
    tried = replace(evaluator._try(evaluator._ready_bench(), parent.library, None), doubt="", labels=())

    def timed(_: Bench, library: Path, __: float | None) -> Trialled:
        return replace(tried, measurement=replace(tried.measurement, kernel=Timing((kernels[library],))))

    monkeypatch.setattr(evaluator, "_try", timed)
    monkeypatch.setattr(weighing, "LOOKS", {2: 1.0})
    monkeypatch.setattr(duel, "BLOCKS", 1)
    for promoted, expected in ((1, [600, 300]), (2, [600, 300]), (3, order)):
        monkeypatch.setattr(evaluator, "_promoted", promoted)
        monkeypatch.setattr(evaluator, "_times", [])
        duels.clear()
        for time in order:
            evaluator.judge(evaluator.build(source(f"{time}")), parent=parent)
        assert [kernels[first] for first, _ in duels] == expected


def test_a_wrong_kernel_is_compared_with_nothing(evaluator: Evaluator, duels: Duels) -> None:
    wrong = evaluator.build(source().replace("+ 1", "+ 2"))
    assert evaluator.judge(wrong, parent=evaluator.build(source())).status is Status.WRONG
    assert duels == []


def test_what_a_sanitizer_doubts_is_compared_with_nothing(
    evaluator: Evaluator, duels: Duels, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluator.evaluate(source())
    lane: Lane = replace(lanes.of(evaluator.device), inspect=lambda *about: DOUBTED)
    monkeypatch.setattr(evaluator, "_lane", lane)
    monkeypatch.setattr(evaluator, "_times", [])
    assert evaluator.judge(evaluator.build(source()), parent=evaluator.build(source("parent"))).status is Status.SUSPECT
    assert duels == []
    assert evaluator._times == [], "a kernel that is doubted keeps nobody from being promoted"


def test_a_duel_that_fails_changes_no_verdict(evaluator: Evaluator, duels: Duels) -> None:
    """Here of a parent that was verified by another deck, or on another machine."""
    wrong = evaluator.build(source().replace("+ 1", "+ 2"))
    verdict = evaluator.judge(evaluator.build(source()), parent=wrong)
    assert verdict.measurement is not None
    assert (verdict.status, verdict.measurement.parent_speedup) == (Status.VERIFIED, None)
    assert len(duels) == 1


def test_a_time_of_launches_in_a_row_is_compared_with_no_single_ones(
    evaluator: Evaluator, duels: Duels, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = evaluator._try
    monkeypatch.setattr(evaluator, "_try", lambda *about: replace(tried(*about), labels=(Label.BACK_TO_BACK,)))
    evaluator.judge(evaluator.build(source()), parent=evaluator.build(source("parent")))
    assert duels == []


def test_one_that_is_clearly_slower_than_the_incumbent_is_timed_less(evaluator: Evaluator) -> None:
    built = evaluator.build(source(work=500))
    few, many = evaluator.judge(built, incumbent=0.02), evaluator.judge(built, incumbent=10.0)
    assert few.measurement is not None
    assert many.measurement is not None
    assert 4 <= len(few.measurement.kernel.samples) < len(many.measurement.kernel.samples)
    assert few.measurement.eager_speedup.low <= few.measurement.eager_speedup.high
    assert few.status is many.status is Status.VERIFIED


def test_two_builds_can_be_compared_at_any_time(evaluator: Evaluator, compiled: Callable[[int], Built]) -> None:
    won = evaluator.duel(compiled(0), compiled(300))
    assert isinstance(won, Duelled)
    assert won.outcome is Outcome.FASTER
    assert evaluator.duel(compiled(0), UNBUILDABLE) == "one of them does not build"


@pytest.fixture
def compiled(evaluator: Evaluator) -> Callable[[int], Built]:
    return lambda work: evaluator.build(source(work=work))
