"""Which of two kernels is faster: how often that is said wrongly, and what a duel does to its kernels."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from tests.evaluation.test_trial import FORGED, HOSTILE, kernel
from treesearch import languages, problem
from treesearch.evaluation import build, device, duel, lanes
from treesearch.evaluation.candidate import Failed
from treesearch.evaluation.checks import NONE, Check, Checks
from treesearch.evaluation.duel import CHECKED, FEWEST_BLOCKS, LOOKS, Duel, Duelled, Turn
from treesearch.evaluation.evaluator import Bench
from treesearch.records import Outcome, Problem, Protocol, Status

DUELS = 400


# ── what samples say ────────────────────────────────────────────────────────────────────────────


class Launches:
    """Times as two kernels have them in turn: what is launched second is slower, the machine slows down meanwhile,
    some launches are interrupted, and each sitting's processes lie in memory as chance has it."""

    def __init__(self, seed: int, difference: float, *, spread: float = 0.01, processes: float = 0.0) -> None:
        self.chance = random.Random(seed)
        self.difference, self.spread, self.processes = difference, spread, processes
        self.drift = 1.0

    def play(self, count: int) -> list[float]:
        first, second = (self.chance.lognormvariate(0, self.processes) for _ in range(2))
        second *= 1 + self.difference
        return [duel.log_ratio(self._block(first, second)) for _ in range(count)]

    def _block(self, first: float, second: float) -> duel.Block:
        a, b, late_b, late_a = self._turn(first), self._turn(second, 1.02), self._turn(second), self._turn(first, 1.02)
        return (a, b), (late_a, late_b)

    def _turn(self, true: float, place: float = 1.0) -> Turn:
        self.drift *= 1.0005
        interrupted = self.chance.uniform(1.1, 2.0) if self.chance.random() < 0.05 else 1.0
        return Turn(true * place * self.drift * interrupted * self.chance.lognormvariate(0, self.spread), 1.0, 1.0)


def outcomes(difference: float, noise: float | None = None, **machine: float) -> list[Outcome]:
    launches = (Launches(seed, difference, **machine) for seed in range(DUELS))
    return [duel.settle(one.play, noise).outcome for one in launches]


def test_equal_kernels_are_declared_different_at_most_once_in_twenty() -> None:
    said = outcomes(0.0)
    assert DUELS - said.count(Outcome.INCONCLUSIVE) <= DUELS / 20


@pytest.mark.parametrize("spread", [0.005, 0.015])
def test_two_percent_are_seen_nineteen_times_in_twenty(spread: float) -> None:
    said = outcomes(0.02, spread=spread)
    assert said.count(Outcome.FASTER) >= 0.95 * DUELS
    assert Outcome.SLOWER not in said


def test_a_device_whose_processes_differ_is_not_taken_for_a_difference_of_kernels() -> None:
    """95 in 100 ratios of two processes of one kernel are within `noise` of 1, which the duel has to know."""
    processes = 0.004
    noise = 1.96 * math.sqrt(2) * processes
    assert DUELS - outcomes(0.0, noise, processes=processes).count(Outcome.INCONCLUSIVE) <= DUELS / 20
    assert DUELS - outcomes(0.0, None, processes=processes).count(Outcome.INCONCLUSIVE) > DUELS / 20
    assert outcomes(0.04, noise, processes=processes).count(Outcome.FASTER) >= 0.95 * DUELS


def test_the_interval_holds_the_true_ratio_and_is_a_function_of_the_samples() -> None:
    held = 0
    for seed in range(100):
        played = Launches(seed, 0.05).play(20)
        found = duel.weigh(played)
        assert found == duel.weigh(played)
        assert found.ratio.low <= found.ratio.value <= found.ratio.high
        held += found.ratio.low <= 1.05 <= found.ratio.high
    assert held >= 95
    assert found.pairs == 40


def test_more_is_sampled_only_while_it_is_not_clear() -> None:
    def asked(difference: float) -> list[int]:
        counts: list[int] = []
        launches = Launches(1, difference)

        def play(count: int) -> list[float]:
            counts.append(count)
            return launches.play(count)

        duel.settle(play)
        return counts

    assert asked(0.5) == asked(-0.3) == [10]
    assert asked(0.0) == [10, 10, 20]


def test_a_duel_that_runs_out_of_time_says_what_it_knows() -> None:
    counts: list[int] = []

    def play(count: int) -> Sequence[float]:
        counts.append(count)
        return [0.001 * (-1) ** number for number in range(min(count, FEWEST_BLOCKS))]

    found = duel.settle(play)
    assert (found.outcome, found.pairs, counts) == (Outcome.INCONCLUSIVE, 2 * FEWEST_BLOCKS, [10])


def test_too_few_blocks_to_err_rarely_are_never_asked_for() -> None:
    """All of them may fall on one side of 1 by chance."""
    assert 2 * 0.5**FEWEST_BLOCKS < 0.01
    assert min(LOOKS) >= FEWEST_BLOCKS
    assert list(LOOKS) == sorted(LOOKS)
    assert 2 * sum(LOOKS.values()) < 0.05


def test_the_noise_of_a_device_widens_the_interval() -> None:
    played = Launches(3, 0.02).play(40)
    bare, wide = duel.weigh(played), duel.weigh(played, 0.03)
    assert bare.outcome is Outcome.FASTER
    assert wide.outcome is Outcome.INCONCLUSIVE
    assert wide.ratio.value == bare.ratio.value
    assert wide.ratio.low < bare.ratio.low < bare.ratio.high < wide.ratio.high


# ── two kernels alive at once ───────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def bench(compiler: str, tiny_problem: Problem) -> Iterator[Bench]:
    made = Bench.set_up(tiny_problem, protocol_of(tiny_problem), lanes.of(device.cpu()), seed=7)
    yield made
    made.close()


def protocol_of(subject: Problem, deadline: float = 20) -> Protocol:
    return Protocol(subject.tolerance, deadline_seconds=deadline, threads=1, nominal_calls=4, repeats=3)


Fight = Callable[..., Duelled]


@pytest.fixture
def fight(bench: Bench, tiny_problem: Problem) -> Fight:
    def fought(first: str, second: str, *, deadline: float = 20, without: Checks = NONE) -> Duelled:
        libraries = []
        for source in (first, second):
            built = build.build(tiny_problem, languages.CPP, source, device.cpu().architecture)
            assert built.library is not None, built.error
            libraries.append(built.library)
        about = (tiny_problem, languages.CPP, protocol_of(tiny_problem, deadline), lanes.of(device.cpu()))
        made = Duel(*about, bench.deck, bench.sets, without=without | HOSTILE)
        return made.run(*libraries)

    return fought


def test_a_kernel_that_does_more_work_loses_whichever_place_it_has(fight: Fight) -> None:
    plain, busy = kernel(), kernel(before="spin(300);")
    won, lost = fight(plain, busy), fight(busy, plain)
    assert (won.outcome, lost.outcome) == (Outcome.FASTER, Outcome.SLOWER)
    assert won.ratio.value > 5
    assert lost.ratio.value < 1 / 5


def failure(fight: Fight, *sources: str, without: Checks = NONE) -> tuple[Status, str]:
    with pytest.raises(Failed) as caught:
        fight(*sources, without=without)
    return caught.value.status, caught.value.error


@pytest.mark.parametrize("place", [0, 1])
def test_a_kernel_that_stops_working_once_its_verdict_must_be_over_is_found(fight: Fight, place: int) -> None:
    """Which of its answers are checked is drawn by lot; from some launch on it gives none."""
    lazy = kernel(before="static int n = 0; if (++n > 4) return 0;")
    sources = [kernel(), kernel()]
    sources[place] = lazy
    assert failure(fight, *sources)[0] is Status.WRONG


def test_a_worker_that_lies_about_its_time_wins_nothing(fight: Fight) -> None:
    liar = kernel(above=FORGED, before="spin(2000);")
    status, error = failure(fight, liar, kernel())
    assert status is Status.SUSPECT
    assert "the clocks disagree" in error
    assert fight(liar, kernel(), without=frozenset({Check.CLOCKS})).pairs >= 2 * min(LOOKS)


def test_a_kernel_that_dies_in_the_middle_ends_the_duel(fight: Fight) -> None:
    status, error = failure(fight, kernel(), kernel(before="static int n = 0; if (++n > 6) abort();"))
    assert status is Status.CRASHED
    assert "the worker died" in error


def test_what_no_trial_would_start_no_duel_starts(fight: Fight, bench: Bench, tiny_problem: Problem) -> None:
    source = kernel(before='if (getenv("x")) system("true");')
    built = build.build(tiny_problem, languages.CPP, source, device.cpu().architecture)
    assert built.library is not None
    about = (tiny_problem, languages.CPP, protocol_of(tiny_problem), lanes.of(device.cpu()))
    with pytest.raises(Failed, match="system") as caught:
        Duel(*about, bench.deck, bench.sets).run(built.library, built.library)
    assert caught.value.status is Status.BROKE_CONTRACT


def test_both_have_the_same_contents_in_the_same_places_in_the_order_abba(
    bench: Bench, tiny_problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = build.build(tiny_problem, languages.CPP, kernel(), device.cpu().architecture)
    assert built.library is not None
    lane = replace(lanes.of(device.cpu()), settle_seconds=0.0)
    made = Duel(tiny_problem, languages.CPP, protocol_of(tiny_problem), lane, bench.deck, bench.sets, without=HOSTILE)
    turns: list[tuple[int, int, int, bool]] = []
    turn = made._turn

    def noted(candidate: object, call: object, index: int, *, checked: bool) -> Turn:
        turns.append((id(candidate), id(call), index, checked))
        return turn(candidate, call, index, checked=checked)  # type: ignore[arg-type]

    monkeypatch.setattr(made, "_turn", noted)
    made._sit(built.library, built.library, 10, math.inf)
    assert len(turns) == 4 * 11, "a block before any that counts"
    a, b = turns[0][0], turns[1][0]
    assert [who for who, *_ in turns] == [a, b, b, a] * 11
    assert all(first[1:] == second[1:] for first, second in zip(turns[::2], turns[1::2], strict=True))
    assert sum(checked for *_, checked in turns) == 4 * CHECKED
    assert len({call for _, call, *_ in turns}) > 1
    assert {index for *_, index, _ in turns} == {0, 1}


def test_without_time_there_are_the_fewest_blocks(fight: Fight) -> None:
    slow = kernel(before="spin(20000);")
    assert fight(slow, slow, deadline=1.5).pairs == 2 * FEWEST_BLOCKS


@pytest.mark.gpu
def test_on_a_gpu_the_kernel_that_does_less_wins() -> None:
    from tests.evaluation.test_cuda import RIGHT, SQUARE
    from tests.evaluation.test_cuda import kernel as cuda
    from treesearch.evaluation.evaluator import Evaluator

    subject = problem.from_source("square", SQUARE)
    protocol = Protocol(subject.tolerance, deadline_seconds=20, threads=1, nominal_calls=4, repeats=3)
    more = "float v = x[i]; for (int n = 0; n < 4096; ++n) v = v * 0.999f + 1e-7f; if (v == 7) out[0] = v;" + RIGHT
    with Evaluator(subject, languages.CUDA, protocol, seed=7) as evaluator:
        first, second = evaluator.build(cuda()), evaluator.build(cuda(more))
        found = evaluator.duel(first, second)
        assert isinstance(found, Duelled)
        assert found.outcome is Outcome.FASTER
        again = evaluator.duel(first, first)
        assert isinstance(again, Duelled)
        assert 0.95 < again.ratio.value < 1.05
