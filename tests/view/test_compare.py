"""Runs side by side, from records that hold hostile text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.view.test_progressions import BILLS, ENTRIES, RUN, found
from tests.view.test_views import DEVICE, HOSTILE, harmless, printed
from treesearch.archive import Bill
from treesearch.records import Config, Spending
from treesearch.view import compare
from treesearch.view.compare import Compared
from treesearch.view.progressions import Axis, Progression


def beside(first: Progression, second: Progression) -> list[Compared]:
    return [Compared(first, DEVICE), Compared(replace(second, run=replace(RUN, id="r2")), DEVICE)]


def row(written: str, name: str) -> list[str]:
    return next(line.split()[1:] for line in written.splitlines() if line.startswith(f"{name} "))


def test_each_place_of_the_axis_has_a_row_and_a_run_says_nothing_beyond_its_end() -> None:
    pair = beside(found(Axis.EVALUATIONS), found(Axis.EVALUATIONS, *ENTRIES[:2]))
    written = printed(compare.table(pair))
    assert row(written, "evaluations") == ["r1", "r2"]
    assert [row(written, str(place)) for place in range(1, 6)] == [
        ["2.00×", "2.00×"],
        ["4.00×", "2.00×"],
        ["4.00×", "–"],
        ["4.00×", "–"],
        ["8.00×", "–"],
    ]
    assert row(written, "verified") == "4 of 5, 80 % 1 of 2, 50 %".split()
    assert row(written, "winner") == [ENTRIES[4].kernel.id, ENTRIES[0].kernel.id]


def test_what_a_run_took_is_never_called_less_than_is_known() -> None:
    unpriced = found(Axis.DOLLARS, bills=(*BILLS, Bill("2026-11-22T09:00:00", None)))
    known = replace(found(Axis.DOLLARS), spent=Spending(3, 0, 1000, 234, 1.0))
    written = printed(compare.table(beside(replace(unpriced, spent=Spending(4, 1, 9, 9, 1.0)), known)))
    assert "r1: dollars unknown, 1 of 4 answers unpriced" in written
    assert row(written, "$0.60") == ["–", "2.00×"]
    assert row(written, "spent") == "18 tokens, $1.00, 1 answer unpriced 1,234 tokens, $1.00".split()


def test_a_run_without_verdicts_stands_beside_one_with() -> None:
    nothing = found(Axis.ROUND, replace(ENTRIES[0], evaluation=None))
    written = printed(compare.table(beside(nothing, found(Axis.ROUND))))
    assert row(written, "verified")[:3] == ["none", "judged", "4"]
    assert row(written, "winner") == ["–", ENTRIES[4].kernel.id]
    assert "nothing" not in row(written, "time")


def test_names_are_printed_as_they_are_but_for_what_steers_a_terminal() -> None:
    run = replace(RUN, problem_name=HOSTILE, config=Config((HOSTILE,), HOSTILE))
    one = Compared(replace(found(Axis.ROUND), run=run), DEVICE)
    written = printed(compare.table([one, *beside(found(Axis.ROUND), found(Axis.ROUND))]), width=400)
    assert harmless(written)
    assert "[bold]" in written


@pytest.mark.parametrize("axis", list(Axis))
def test_json_has_points_and_says_why_there_are_none(axis: Axis) -> None:
    known, unknown = found(axis), replace(found(axis), points=(), end=None, unknown="clock")
    whole = compare.as_json(beside(known, unknown))
    first, second = whole["runs"]
    assert whole["axis"] == axis
    assert [point["speedup"] for point in first["points"]] == [2.0, 4.0, 8.0]
    assert (first["verified_rate"], first["winner"], first["speedup"]) == (0.8, ENTRIES[4].kernel.id, 8.0)
    assert (first["unknown"], second["unknown"], second["end"]) == (None, "clock", None)
