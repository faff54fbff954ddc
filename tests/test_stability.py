"""The benchmark of stability counts what duels say, whichever kernel they name first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import stability
from benchmarks.stability import Fought, Tally
from treesearch.evaluation import noise
from treesearch.evaluation.build import Built
from treesearch.evaluation.duel import Duelled
from treesearch.records import Build, Conditions, Measurement, Outcome, Ratio, Timing


class Referee:
    """Decides duels by the kernels' logs, which hold their times; a hundredth is too little to tell."""

    def duel(self, first: Built, second: Built) -> Duelled | str:
        if "nan" in (first.record.log, second.record.log):
            return "the clocks disagree"
        ratio = float(second.record.log) / float(first.record.log)
        outcome = Outcome.FASTER if ratio > 1.01 else Outcome.SLOWER if ratio < 0.99 else Outcome.INCONCLUSIVE
        return Duelled(Ratio(ratio, ratio, ratio), 20, outcome)


def built(milliseconds: float) -> Built:
    return Built(Path("kernel.so"), Build("g++", 0.0, False, str(milliseconds)))


def tallied(first: float, second: float) -> Tally:
    referee: Any = Referee()
    return stability.tally(referee, built(first), built(second), 4)


def test_the_faster_of_two_wins_whichever_is_named_first() -> None:
    assert tallied(1.0, 1.25).said(Outcome.FASTER) == 4
    assert tallied(1.25, 1.0).said(Outcome.SLOWER) == 4
    assert tallied(1.0, 1.25).ratios == pytest.approx((1.25, 1.25, 1.25, 1.25))


def test_one_part_can_be_asked_for_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = [measurement(time) for time in (1.0, 1.01)]
    monkeypatch.setattr(noise, "verdicts", lambda hardware, count: measured)
    hardware: Any = None
    assert list(stability.rows(hardware, ["verdicts"])) == list(stability.verdict_rows(measured))


def test_equal_ones_are_not_declared_different() -> None:
    assert tallied(1.0, 1.0).said(Outcome.INCONCLUSIVE) == 4
    assert tallied(1.0, 1.0).said(Outcome.FASTER, Outcome.SLOWER) == 0


def test_a_duel_that_cannot_be_believed_is_neither_won_nor_a_draw() -> None:
    found = tallied(1.0, float("nan"))
    assert (found.total, found.said(*Outcome), found.said(None), found.ratios) == (4, 0, 4, [])


def test_the_table_states_what_was_found() -> None:
    same = Tally([said(Outcome.INCONCLUSIVE, 1.0)] * 39 + [said(Outcome.SLOWER, 0.98)])
    more = Tally([said(Outcome.FASTER, 1.02)] * 18 + [said(Outcome.SLOWER, 0.98), said(None, None)])
    found = {what: (tried, figure) for what, tried, figure, _ in stability.duel_rows(same, more)}
    assert found["of two 2 % apart, the faster one wins"] == (20, "18, and loses 1")
    assert found["of two 2 % apart: measured difference"] == (19, "2.00 %")
    assert found["two equal ones declared different"] == (40, "1")
    assert found["equal: seconds a duel"] == (40, "3.0 (3.0–3.0)")
    assert found["duels whose readings could not be believed"] == (60, "1")
    times = [*[1.0] * 19, 1.1]
    rows = {what: figure for what, _, figure, _ in stability.verdict_rows([measurement(time) for time in times])}
    assert rows["… furthest from that"] == "10.00 %"
    assert rows["… other processes had, of all cores"] == "25 %"


def said(outcome: Outcome | None, ratio: float | None) -> Fought:
    return Fought(outcome, ratio, seconds=3.0, load=1.0)


def measurement(milliseconds: float) -> Measurement:
    one = Timing((milliseconds,))
    return Measurement(one, one, Ratio(1.0, 1.0, 1.0), conditions=Conditions(others=0.25))
