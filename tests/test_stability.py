"""The benchmark of stability counts what duels say, whichever kernel they name first."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks import stability
from benchmarks.stability import Tally
from treesearch.evaluation.build import Built
from treesearch.evaluation.duel import Duelled
from treesearch.records import Build, Outcome, Ratio


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
    assert tallied(1.0, 1.25).outcomes == Counter({Outcome.FASTER: 4})
    assert tallied(1.25, 1.0).outcomes == Counter({Outcome.SLOWER: 4})
    assert tallied(1.0, 1.25).ratios == pytest.approx((1.25, 1.25, 1.25, 1.25))


def test_equal_ones_are_not_declared_different() -> None:
    assert tallied(1.0, 1.0).different == 0
    assert tallied(1.0, 1.25).different == 4


def test_a_duel_that_cannot_be_believed_is_neither_won_nor_a_draw() -> None:
    found = tallied(1.0, float("nan"))
    assert (found.total, found.different, found.refused, found.ratios) == (4, 0, 4, ())


def test_the_table_states_what_was_found() -> None:
    same = Tally(Counter({Outcome.INCONCLUSIVE: 39, Outcome.SLOWER: 1}), (1.0,) * 39 + (0.98,))
    more = Tally(Counter({Outcome.FASTER: 19, Outcome.SLOWER: 1}), (1.02,) * 20)
    found = {what: (tried, said) for what, tried, said, _ in stability.rows([1.0] * 19 + [1.1], same, more)}
    assert found["… furthest from that"] == (20, "10.00 %")
    assert found["of two 2 % apart, the faster one wins"] == (20, "19, and loses 1")
    assert found["of two 2 % apart: measured difference"] == (20, "2.00 %")
    assert found["two equal ones declared different"] == (40, "1")
