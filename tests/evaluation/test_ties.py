"""Picks among equal numbers, which of several right orders may be taken for the only one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tests.evaluation.test_inputs import deck_of, elementwise
from treesearch.evaluation.ties import TieWatch

ROWS = torch.tensor([[1.0, 3.0, 3.0, 2.0], [0.0, 0.0, 4.0, 5.0]])


@pytest.mark.parametrize(
    ("pick", "tied"),
    [
        (lambda x: x.argmax(dim=1), [True, False]),
        (lambda x: x.argmax(), [False]),
        (lambda x: x.max(dim=1), [True, False]),
        (lambda x: x.argmin(dim=1), [False, True]),
        (lambda x: x.min(dim=-1, keepdim=True), [False, True]),
        (lambda x: x.topk(1, dim=1), [True, False]),
        (lambda x: x.topk(2, dim=1), [True, False, False, False]),
        (lambda x: x.topk(2, dim=1, largest=False), [False, False, True, False]),
        (lambda x: x.sort(dim=1), [False, False, True, True, False, False]),
        (lambda x: x.argsort(dim=0), [False] * 4),
    ],
)
def test_picks_among_equals_are_found(pick: Callable[[torch.Tensor], object], tied: list[bool]) -> None:
    with TieWatch() as watch:
        pick(ROWS)
    assert [one.flatten().tolist() for one in watch.found] == [tied]


def test_what_leaves_nothing_open_is_not_looked_at() -> None:
    with TieWatch() as watch:
        ROWS.sort(dim=1, stable=True)
        ROWS.long().argmax(dim=1)
        ROWS.amax(dim=1)
        torch.tensor(3.0).argmax()
    assert watch.found == []


def test_no_stress_asks_in_which_order_probabilities_of_nothing_come() -> None:
    forward = "x):\n        return torch.topk(torch.softmax(x, dim=-1), 8, dim=-1)"
    deck = deck_of(elementwise(forward, "torch.randn(64, 64)"))
    stressed = [call for call in deck.calls if not call.nominal]
    assert len(stressed) >= 8
    for call in stressed:
        assert bool((torch.softmax(call.values["x"], dim=-1).topk(9).values > 0).all()), call.stratum
