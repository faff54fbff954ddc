"""What a duel does to its kernels, and what it makes of kernels that cheat in one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.evaluation.test_trial import FORGED, HOSTILE, kernel
from treesearch import languages, problem
from treesearch.evaluation import build, clock, device, duel, lanes, weighing
from treesearch.evaluation.bench import Bench
from treesearch.evaluation.candidate import Candidate, Failed
from treesearch.evaluation.checks import NONE, Check, Checks
from treesearch.evaluation.duel import BLOCKS, FEWEST_BLOCKS, Duel, Duelled, Turn
from treesearch.records import Outcome, Problem, Protocol, Status

FIRST_LOOK = min(weighing.LOOKS)


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


def test_what_kernels_see_while_they_start_does_not_come_again(bench: Bench, tiny_problem: Problem) -> None:
    """One that keeps its answers would have that one ready."""
    about = (tiny_problem, languages.CPP, protocol_of(tiny_problem), lanes.of(device.cpu()))
    made = Duel(*about, bench.deck, bench.sets)
    calls = made._drawn()
    assert made.first not in [next(calls) for _ in range(2 * len(made.calls))]


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
    """Nothing tells it which of its answers are checked; from some launch on it gives none."""
    lazy = kernel(before="static int n = 0; if (++n > 4) return 0;")
    sources = [kernel(), kernel()]
    sources[place] = lazy
    assert failure(fight, *sources)[0] is Status.WRONG


def test_a_worker_that_lies_about_its_time_wins_nothing(fight: Fight, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weighing, "LOOKS", {FIRST_LOOK: weighing.LOOKS[FIRST_LOOK]})
    liar = kernel(above=FORGED, before="spin(2000);")
    status, error = failure(fight, liar, kernel())
    assert status is Status.SUSPECT
    assert "the clocks disagree" in error
    assert fight(liar, kernel(), without=frozenset({Check.CLOCKS})).pairs == FIRST_LOOK * 2 * BLOCKS


def test_a_few_forged_readings_are_not_the_quickest_launches() -> None:
    honest, forged = Turn(inside=5.0, outside=5.6, crossing=0.4), Turn(inside=1.0, outside=5.6, crossing=0.4)
    assert honest.taken == 5.0
    assert forged.taken == pytest.approx(5.2 - clock.margin(1.0, 0.4))
    assert Turn(inside=5.0, outside=9.0, crossing=0.4).taken > 5.0, "interrupted before it answered: not the quickest"


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


@pytest.fixture
def idle(bench: Bench, tiny_problem: Problem) -> Duel:
    """A duel without the pauses between launches."""
    lane = replace(lanes.of(device.cpu()), settle_seconds=0.0)
    about = (tiny_problem, languages.CPP, protocol_of(tiny_problem), lane, bench.deck, bench.sets)
    return Duel(*about, without=HOSTILE)


Turns = list[tuple[int, int, int]]


@pytest.fixture
def turns(idle: Duel, monkeypatch: pytest.MonkeyPatch) -> Turns:
    """Candidate, call and set of each launch, as they come."""
    noted: Turns = []
    turn = idle._turn

    def noting(candidate: object, call: object, index: int) -> Turn:
        noted.append((id(candidate), id(call), index))
        return turn(candidate, call, index)  # type: ignore[arg-type]

    monkeypatch.setattr(idle, "_turn", noting)
    return noted


def library(subject: Problem) -> Path:
    built = build.build(subject, languages.CPP, kernel(), device.cpu().architecture)
    assert built.library is not None
    return built.library


def test_both_have_the_same_contents_in_the_same_places_in_the_order_abba(
    idle: Duel, turns: Turns, tiny_problem: Problem
) -> None:
    idle._sit(library(tiny_problem), library(tiny_problem))
    assert len(turns) == 4 * (BLOCKS + 1), "a block before any that counts"
    a, b = turns[0][0], turns[1][0]
    assert [who for who, *_ in turns] == [a, b, b, a] * (BLOCKS + 1)
    assert all(first[1:] == second[1:] for first, second in zip(turns[::2], turns[1::2], strict=True))
    assert {index for *_, index in turns} == {0, 1}


def test_no_contents_come_again_before_all_others_did(idle: Duel, turns: Turns, tiny_problem: Problem) -> None:
    idle._sit(library(tiny_problem), library(tiny_problem))
    drawn, count = [call for _, call, _ in turns[::2]], len(idle.calls)
    assert len(set(drawn[:count])) == len(set(drawn[count : 2 * count])) == count
    assert drawn[:count] != drawn[count : 2 * count]


def test_processes_are_new_in_each_sitting_and_started_the_other_way_round(
    idle: Duel, tiny_problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Path] = []
    start = idle._started

    def noting(one: Path) -> Candidate:
        started.append(one)
        return start(one)

    monkeypatch.setattr(idle, "_started", noting)
    monkeypatch.setattr(duel, "BLOCKS", 1)
    first = library(tiny_problem)
    second = tmp_path / "same.so"
    second.write_bytes(first.read_bytes())
    for _ in range(3):
        idle._sit(first, second)
    assert started == [first, second, second, first, first, second]


def test_what_asking_takes_is_known_of_both_before_either_is_loaded(
    idle: Duel, tiny_problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To ask one while the other starts, or beside a loaded one, might grant it more than it is due."""
    steps: list[str] = []

    def noted(step: str, done: Callable[..., object]) -> Callable[..., object]:
        def noting(*args: object, **keywords: object) -> object:
            steps.append(step)
            return done(*args, **keywords)

        return noting

    for step in ("wait", "calibrate", "load"):
        monkeypatch.setattr(Candidate, step, noted(step, getattr(Candidate, step)))
    monkeypatch.setattr(duel, "BLOCKS", 1)
    idle._sit(library(tiny_problem), library(tiny_problem))
    assert steps == ["wait", "wait", "calibrate", "calibrate", "load", "load"]


def test_a_kernel_has_its_own_time_also_where_it_is_started_second(
    idle: Duel, tiny_problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duel, "BLOCKS", 2)
    slow = build.build(tiny_problem, languages.CPP, kernel(before="spin(300);"), device.cpu().architecture).library
    assert slow is not None
    assert all(idle._sit(library(tiny_problem), slow) > 1 for _ in range(2))


def test_a_sitting_without_time_has_the_fewest_blocks(
    idle: Duel, tiny_problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duel, "SITTING_SHARE", 0.0)
    idle._sit(library(tiny_problem), library(tiny_problem))
    assert list(map(len, idle.sittings)) == [2 * FEWEST_BLOCKS]


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
