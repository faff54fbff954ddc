"""Picks among equal numbers, which of several right orders may be taken for the only one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tests.evaluation.test_inputs import deck_of, elementwise
from treesearch import problem
from treesearch.evaluation import verify
from treesearch.evaluation.calls import Call
from treesearch.evaluation.ties import OtherPicks, Picked, TieWatch

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
        probabilities = torch.softmax(call.values["x"], dim=-1)
        assert call.unsaid or bool((probabilities.topk(9).values > 0).all()), call.stratum
        assert call.answers.unsaid == call.unsaid
    assert any(call.unsaid for call in stressed), "which is asked for the probabilities all the same"


def test_what_depends_on_the_order_of_equals_is_asked_under_no_stress_that_makes_them() -> None:
    forward = "x):\n        i = torch.softmax(x, dim=-1).topk(8, dim=-1).indices\n        return x.gather(-1, i), i"
    deck = deck_of(elementwise(forward, "torch.randn(64, 64)"))
    assert not any(call.unsaid for call in deck.calls)
    assert "peak" in deck.skipped


ROUTER = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(64, 64, bias=False).bfloat16()

    def forward(self, x):
        return torch.topk(torch.softmax(self.gate(x), dim=-1), 2, dim=-1)

def get_inputs():
    return [torch.randn(512, 64).bfloat16()]

def get_init_inputs():
    return []
"""


def routed(call: Call, pick: Callable[[torch.Tensor], torch.Tensor]) -> str:
    """Why it is wrong to pick so among probabilities that are rounded to bfloat16."""
    values = call.values
    logits = (values["x"].float() @ values["gate_weight"].float().T).bfloat16()
    probabilities = torch.softmax(logits.float(), dim=-1).bfloat16()
    outputs = [probabilities.topk(2).values, pick(probabilities)]
    return verify.check(problem.from_source("handmade", ROUTER), call.stratum, call.answers, outputs).failure


def test_of_numbers_that_bfloat16_makes_equal_any_is_right_and_no_other() -> None:
    deck = deck_of(ROUTER)
    call = deck.calls[0]
    assert call.nominal
    assert routed(call, lambda p: p.sort(descending=True, stable=True).indices[:, :2]) == ""
    assert routed(call, lambda p: 63 - p.flip(1).sort(descending=True, stable=True).indices[:, :2]) == ""
    assert call.answers.picked[1].numbers is call.answers.tensors[-1], "which takes memory as well"
    assert "elements differ" in routed(call, lambda p: p.topk(2).indices.flip(1))
    assert "elements differ" in routed(call, lambda p: p.argmax(dim=1, keepdim=True).expand(-1, 2))
    assert len(deck.skipped) < 8, "probabilities are asked for where rounding leaves open whose they are"


def test_indices_may_be_told_in_fewer_bits() -> None:
    forward = "torch.topk(torch.softmax(self.gate(x), dim=-1), 2, dim=-1)"
    assert forward in ROUTER
    call = deck_of(ROUTER.replace(forward, "torch.softmax(self.gate(x), dim=-1).argmax(dim=-1).int()")).calls[0]
    assert call.answers.expected[0].dtype is torch.int32
    assert call.answers.picked[0].numbers.shape == (512, 64)


def test_an_index_that_names_nothing_is_not_excused() -> None:
    picked = Picked(torch.tensor([[3.0, 3.0, 1.0]]), axis=1, most=0.5)
    expected = torch.tensor([[0]])
    for index, excused in ((1, True), (2, False), (3, False), (-1, False)):
        assert picked.excuse(torch.tensor([[index]]), expected).tolist() == [[excused]]


@pytest.mark.parametrize(
    ("pick", "other"),
    [
        (lambda x: x.argmax(dim=1), [2, 3]),
        (lambda x: x.argmax(), 7),
        (lambda x: x.min(dim=1).indices, [0, 1]),
        (lambda x: x.topk(2, dim=1).indices, [[2, 1], [3, 2]]),
        (lambda x: x.sort(dim=1).indices, [[0, 3, 2, 1], [1, 0, 2, 3]]),
    ],
)
def test_others_of_equals_may_be_taken(pick: Callable[[torch.Tensor], torch.Tensor], other: object) -> None:
    with OtherPicks():
        found = pick(ROWS)
    assert found.tolist() == other
