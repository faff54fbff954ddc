"""Runs along one axis: which kernel was the best when, and where nobody can tell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from treesearch.archive import Bill
from treesearch.lineage import Lineage, Reviewed, Standing
from treesearch.records import (
    Accuracy,
    Config,
    Entry,
    Evaluation,
    Kernel,
    Measurement,
    Protocol,
    Ratio,
    Run,
    Spending,
    Status,
    Timing,
)
from treesearch.view.progressions import Axis, Progression, along, ticks, unlike

RUN = Run("r1", "d1", "softmax", Config(("file/x",)), "cpu", created="2026-11-22T08:00:00")


def judged(round: int, ordinal: str, milliseconds: float | None, minute: int) -> Entry:
    """A kernel with its verdict, given so many minutes after the run began; verified if it has a time."""
    kernel = Kernel("r1", round, ordinal, "cpp", "//", "")
    protocol, created = Protocol(0.01), f"2026-11-22T08:{minute:02}:00"
    if milliseconds is None:
        return Entry(kernel, Evaluation(Status.WRONG, "cpu", protocol, "row 3 differs", created=created))
    measured = Measurement(Timing((milliseconds,)), Timing((8.0,)), Ratio(8 / milliseconds, 1, 9))
    accuracy = Accuracy(9, 1e-7, 1e-7, "float64", "float32-like")
    return Entry(kernel, Evaluation(Status.VERIFIED, "cpu", protocol, "", accuracy, measured, created=created))


ENTRIES = (
    judged(0, "0.0", 4.0, 5),
    judged(1, "0.0", None, 12),
    judged(1, "0.1", 5.0, 11),
    judged(1, "1.0", 2.0, 10),
    judged(2, "0.0", 1.0, 20),
)
BILLS = (Bill("2026-11-22T08:01:00", 0.5), Bill("2026-11-22T08:10:00", 0.25), Bill("2026-11-22T08:11:00", 0.25))


def found(axis: Axis, *entries: Entry, bills: tuple[Bill, ...] = BILLS) -> Progression:
    return along(RUN, Lineage(entries or ENTRIES), axis, bills, Spending())


@pytest.mark.parametrize(
    ("axis", "values", "end"),
    [
        (Axis.ROUND, [0, 1, 2], 2),
        (Axis.EVALUATIONS, [1, 2, 5], 5),
        (Axis.DOLLARS, [0.5, 0.75, 1.0], 1.0),
        (Axis.MINUTES, [5, 10, 20], 20),
    ],
)
def test_points_are_the_kernels_that_were_faster_than_all_before(axis: Axis, values: list[float], end: float) -> None:
    progression = found(axis)
    assert [point.value for point in progression.points] == values
    assert [point.milliseconds for point in progression.points] == [4.0, 2.0, 1.0]
    assert [point.speedup for point in progression.points] == [2.0, 4.0, 8.0]
    assert [point.kernel for point in progression.points] == [ENTRIES[place].kernel.id for place in (0, 3, 4)]
    assert (progression.end, progression.judged, progression.verified) == (end, 5, 4)
    assert progression.winner == ENTRIES[4]


def test_the_best_at_a_place_holds_until_the_next_and_nothing_is_said_beyond_the_end() -> None:
    progression = found(Axis.MINUTES)
    best = [point.milliseconds if (point := progression.at(value)) else None for value in (4, 5, 9.9, 10, 20, 20.1)]
    assert best == [None, 4.0, 4.0, 2.0, 1.0, None]


def test_dollars_are_unknown_rather_than_less_where_one_answer_has_no_price() -> None:
    progression = found(Axis.DOLLARS, bills=(*BILLS, Bill("2026-11-22T09:00:00", None)))
    assert progression.unknown == "1 of 4 answers unpriced"
    assert (progression.points, progression.end, progression.at(1)) == ((), None, None)
    assert progression.winner == ENTRIES[4]


@pytest.mark.parametrize("axis", [Axis.DOLLARS, Axis.MINUTES])
def test_a_verdict_from_before_the_run_makes_its_times_unknown(axis: Axis) -> None:
    assert ENTRIES[0].evaluation
    early = replace(ENTRIES[0], evaluation=replace(ENTRIES[0].evaluation, created="2026-11-22T07:59:00"))
    assert found(axis, early).unknown == "the clock of the machine that judged is behind"
    assert found(Axis.EVALUATIONS, early).end == 1


def test_kernels_that_do_not_count_any_more_were_judged_but_are_no_points() -> None:
    first, verdict = ENTRIES[0], ENTRIES[0].evaluation
    assert verdict
    reopened = Reviewed(first.kernel, standing=Standing.REOPENED, reason="", judged=verdict, judgements=1)
    progression = found(Axis.EVALUATIONS, reopened, *ENTRIES[1:])
    assert [point.value for point in progression.points] == [2, 5]
    assert (progression.judged, progression.verified) == (5, 3)


def test_a_run_without_verdicts_has_neither_points_nor_an_end() -> None:
    progression = found(Axis.ROUND, Entry(ENTRIES[0].kernel))
    assert (progression.points, progression.end, progression.judged, progression.unknown) == ((), None, 0, "")
    assert ticks([progression]) == ()


@pytest.mark.parametrize(
    ("axis", "end", "expected"),
    [
        (Axis.ROUND, 0, (0,)),
        (Axis.ROUND, 3, (0, 1, 2, 3)),
        (Axis.EVALUATIONS, 4, (1, 2, 3, 4)),
        (Axis.EVALUATIONS, 96, (20, 40, 60, 80, 96)),
        (Axis.DOLLARS, 0.0, (0.0,)),
        (Axis.DOLLARS, 0.7, (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)),
        (Axis.MINUTES, 1000.0, (200, 400, 600, 800, 1000)),
    ],
)
def test_ticks_are_few_and_round_and_end_where_the_longest_run_does(
    axis: Axis, end: float, expected: tuple[float, ...]
) -> None:
    long, short = replace(found(axis), end=end), replace(found(axis), end=None)
    assert ticks([short, long]) == pytest.approx(expected)


def test_runs_of_different_problems_or_devices_are_told_apart() -> None:
    assert unlike([RUN, replace(RUN, id="r2")]) == ""
    assert "different devices" in unlike([RUN, replace(RUN, device="h100")])
    assert "softmax, conv\ufffd" in unlike([RUN, replace(RUN, problem="d2", problem_name="conv\x1b", device="h100")])
    assert unlike([RUN, replace(RUN, problem="d2")]) == "their problem has been changed in between"
