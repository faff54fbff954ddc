"""Picks among equal numbers, which of several right orders may be taken for the only one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tests.evaluation.test_inputs import deck_of, elementwise
from treesearch import problem
from treesearch.evaluation import verify
from treesearch.evaluation.calls import Call
from treesearch.evaluation.ties import Picked, TieWatch, others, picked

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
    assert [pick.tied.flatten().tolist() for pick in watch.picks] == [tied]


def test_numbers_that_change_after_a_pick_are_those_of_before() -> None:
    numbers = ROWS.clone()
    with TieWatch() as watch:
        first = numbers.argmax(dim=1)
        numbers.scatter_(1, first[:, None], -torch.inf)
        second = numbers.argmax(dim=1)
    assert [pick.tied.tolist() for pick in watch.picks] == [[True, False], [False, False]]
    assert picked(watch.picks, [first], [], [first], nominal=False) == {}
    assert [*picked(watch.picks, [second], [], [second], nominal=False)] == [0]


def test_only_numbers_of_the_same_shape_are_compared_with_the_references_own() -> None:
    """A forward may do something else in float64."""
    with TieWatch() as watch:
        indices = ROWS.argmax(dim=1)
    with TieWatch() as own:
        same = ROWS[:, :3].argmax(dim=1)
    assert picked(watch.picks, [indices], watch.picks, [indices], nominal=True)[0].rounded is not None
    assert picked(watch.picks, [indices], own.picks, [same], nominal=True)[0].rounded is None


def test_what_is_made_of_picked_indices_is_known() -> None:
    with TieWatch() as watch:
        values, indices = ROWS.topk(2, dim=1)
        made = (torch.zeros(2, 4).scatter(1, indices, values), ROWS.gather(1, indices).float() * 2)
        others = torch.softmax(ROWS, dim=1), values * 2
    assert all(map(watch.led_to, (indices, *made)))
    assert not any(map(watch.led_to, others))


def test_what_does_not_depend_on_picks_is_judged_in_every_row() -> None:
    forward = "x):\n        p = torch.softmax(x, dim=-1)\n        return p, p.topk(4, dim=-1).indices"
    source = elementwise(forward, "torch.randn(64, 64)")
    for call in deck_of(source).calls:
        p = torch.softmax(call.values["x"].double(), dim=-1).float()
        assert judged(source, call, [p, p.topk(4).indices]) == "", call.stratum
        p[::2] += 0.1
        assert "rows beyond the tolerance" in judged(source, call, [p, p.topk(4).indices])


def test_what_leaves_nothing_open_is_not_looked_at() -> None:
    with TieWatch() as watch:
        ROWS.sort(dim=1, stable=True)
        ROWS.long().argmax(dim=1)
        ROWS.amax(dim=1)
        torch.tensor(3.0).argmax()
    assert watch.picks == []


PROBABLE = elementwise("x):\n        return torch.topk(torch.softmax(x, dim=-1), 8, dim=-1)", "torch.randn(64, 64)")


def test_of_probabilities_of_nothing_any_may_come_first() -> None:
    deck = deck_of(PROBABLE)
    stressed = [call for call in deck.calls if not call.nominal]
    assert len(stressed) >= 8
    nothing = [bool((torch.softmax(call.values["x"], -1).topk(9).values == 0).any()) for call in stressed]
    assert sum(nothing) >= 3
    caught = 0
    for call in stressed:
        p = torch.softmax(call.values["x"], dim=-1)
        assert not call.unsaid
        for order in (p.topk(8).indices, 63 - p.flip(-1).topk(8).indices):
            assert judged(PROBABLE, call, [p.topk(8).values, order]) == "", call.stratum
        caught += "elements differ" in judged(PROBABLE, call, [p.topk(8).values, p.topk(8).indices.roll(1, dims=0)])
    assert caught >= 8, "in some, all rows are in one order"


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


def judged(source: str, call: Call, outputs: list[torch.Tensor]) -> str:
    return verify.check(problem.from_source("handmade", source), call.stratum, call.answers, outputs).failure


def routed(call: Call, pick: Callable[[torch.Tensor], torch.Tensor]) -> str:
    """Why it is wrong to pick so among probabilities that are rounded to bfloat16."""
    values = call.values
    logits = (values["x"].float() @ values["gate_weight"].float().T).bfloat16()
    probabilities = torch.softmax(logits.float(), dim=-1).bfloat16()
    return judged(ROUTER, call, [probabilities.topk(2).values, pick(probabilities)])


def test_of_numbers_that_bfloat16_makes_equal_any_is_right_and_no_other() -> None:
    deck = deck_of(ROUTER)
    call = deck.calls[0]
    assert call.nominal
    assert routed(call, lambda p: p.sort(descending=True, stable=True).indices[:, :2]) == ""
    assert routed(call, lambda p: 63 - p.flip(1).sort(descending=True, stable=True).indices[:, :2]) == ""
    of = call.answers.picked[1]
    assert of.rounded is not None
    numbers = [one is of.numbers or one is of.rounded.numbers for one in call.answers.tensors]
    assert sum(numbers) == 2, "which take memory as well"
    assert "elements differ" in routed(call, lambda p: p.topk(2).indices.flip(1))
    assert "elements differ" in routed(call, lambda p: p.argmax(dim=1, keepdim=True).expand(-1, 2))
    assert len(deck.skipped) < 8, "probabilities are asked for where rounding leaves open whose they are"


GATED = {
    "winners": "torch.zeros_like(x).scatter(1, x.topk(8).indices, x.topk(8).values)",
    "gathered": "(x + torch.arange(64)).gather(1, x.topk(8).indices)",
    "gates": "torch.zeros_like(x).scatter(1, x.topk(8).indices, torch.softmax(x.topk(8).values, dim=-1))",
}


@pytest.mark.parametrize("forward", GATED.values(), ids=GATED)
def test_of_nearly_equal_numbers_any_may_be_looked_up(forward: str) -> None:
    """Two stressed calls less, at the least, where all numbers are equal; elsewhere some rows hang on a rounding."""
    source = elementwise(f"x):\n        return {forward}", "torch.randn(2048, 64)")
    deck = deck_of(source)
    assert {"constant", "ties"} <= {*deck.skipped}
    assert len({call.stratum for call in deck.calls}) > 8
    caught = 0
    for call in deck.calls:
        x = call.values["x"]
        order = (x.double() * (1 + 1e-9 * torch.rand(x.shape))).argsort(dim=-1, descending=True)[:, :8]
        values = x.gather(1, order)
        answers = {
            "winners": torch.zeros_like(x).scatter(1, order, values),
            "gathered": values + order,
            "gates": torch.zeros_like(x).scatter(1, order, torch.softmax(values, dim=-1)),
        }
        (kind,) = (name for name, text in GATED.items() if text == forward)
        assert judged(source, call, [answers[kind]]) == "", call.stratum
        caught += judged(source, call, [answers[kind].roll(1, dims=0)]) != ""
        answers[kind][0] = torch.nan
        assert "not finite" in judged(source, call, [answers[kind]])
    assert caught > 8


def test_of_probabilities_that_are_as_coarse_as_what_they_are_made_of_any_of_equals_is_right() -> None:
    """They are float32, and as many of them equal as of the numbers in bfloat16 that they are made of."""
    source = ROUTER.replace("self.gate(x), dim=-1)", "self.gate(x), dim=-1, dtype=torch.float32)")
    calls = [call for call in deck_of(source).calls if call.nominal]
    differing = 0
    for call in calls:
        values = call.values
        logits = (values["x"].float() @ values["gate_weight"].float().T).bfloat16()
        found = torch.softmax(logits.float(), dim=-1)
        order = found.sort(dim=-1, descending=True, stable=True).indices[:, :2]
        answers = [found.gather(1, order), order]
        assert judged(source, call, answers) == ""
        differing += int((order != call.answers.expected[1]).sum())
        assert "elements differ" in judged(source, call, [answers[0], order.roll(1, dims=0)])
    assert differing > 0


GATING = ROUTER.replace(
    "return torch.topk(torch.softmax(self.gate(x), dim=-1), 2, dim=-1)",
    "scores = torch.softmax(self.gate(x), dim=-1)\n"
    "        values, indices = torch.topk(scores, 4, dim=-1)\n"
    "        return torch.zeros_like(scores).scatter(1, indices, values / values.sum(dim=-1, keepdim=True))",
)


@pytest.mark.parametrize("backwards", [False, True], ids=["the first", "the last"])
def test_rows_may_hold_what_any_of_numbers_that_rounding_makes_equal_leads_to(backwards: bool) -> None:
    differing = 0
    for call in (call for call in deck_of(GATING).calls if call.nominal):
        values = call.values
        logits = (values["x"].float() @ values["gate_weight"].float().T).bfloat16()
        scores = torch.softmax(logits.float(), dim=-1).bfloat16()
        given = scores.flip(1) if backwards else scores
        order = given.sort(dim=-1, descending=True, stable=True).indices[:, :4]
        order = 63 - order if backwards else order
        taken = scores.gather(1, order)
        found = torch.zeros_like(scores).scatter(1, order, taken / taken.sum(dim=-1, keepdim=True))
        assert judged(GATING, call, [found]) == ""
        differing += int(((found != 0) != (call.answers.expected[0] != 0)).any(dim=-1).sum())
        wrong = found.clone()
        wrong[7] = wrong[7].roll(1)
        assert "1 of 512 rows" in judged(GATING, call, [wrong])
        louder = (1.012 * found.float()).bfloat16()
        assert "rows beyond" in judged(GATING, call, [louder]), "as far off as roundings add up to"
    assert differing > 8


def test_indices_may_be_told_in_fewer_bits() -> None:
    forward = "torch.topk(torch.softmax(self.gate(x), dim=-1), 2, dim=-1)"
    assert forward in ROUTER
    call = deck_of(ROUTER.replace(forward, "torch.softmax(self.gate(x), dim=-1).argmax(dim=-1).int()")).calls[0]
    assert call.answers.expected[0].dtype is torch.int32
    assert call.answers.picked[0].numbers.shape == (512, 64)


def test_an_index_that_names_nothing_is_not_excused() -> None:
    of = Picked(torch.tensor([[3.0, 3.0, 1.0]]), axis=1, most=0.5, share=0.1)
    expected = torch.tensor([[0]])
    for index, excused in ((1, True), (2, False), (3, False), (-1, False)):
        assert of.excuse(torch.tensor([[index]]), expected).tolist() == [[excused]]


def test_small_numbers_have_an_order_as_large_ones_do() -> None:
    numbers = torch.tensor([[100.0, 101.0, 0.5, 0.1]])
    none = Picked(numbers, axis=1, most=0.0, share=0.0)
    allowed = none.allowing(torch.tensor([[0]]), torch.tensor([[1]]))
    assert allowed.most == 4
    assert allowed.excuse(torch.tensor([[0]]), torch.tensor([[1]])).all()
    assert not allowed.excuse(torch.tensor([[2]]), torch.tensor([[3]])).any()


@pytest.mark.parametrize(
    ("pick", "possible"),
    [
        (lambda x: x.argmax(dim=1), [{1, 2}, {3}]),
        (lambda x: x.argmax(), [{7}]),
        (lambda x: x.min(dim=1).indices, [{0}, {0, 1}]),
        (lambda x: x.topk(2, dim=1).indices, [{1, 2}, {1, 2}, {3}, {2}]),
        (lambda x: x.sort(dim=1).indices, [{0}, {3}, {1, 2}, {1, 2}, {0, 1}, {0, 1}, {2}, {3}]),
        (lambda x: x.sort(dim=0).values.long(), [{0}, {0}, {3}, {2}, {1}, {3}, {4}, {5}]),
    ],
)
def test_others_of_equals_may_be_taken(pick: Callable[[torch.Tensor], torch.Tensor], possible: list[set[int]]) -> None:
    found = [one.flatten().tolist() for (one,) in others(lambda: [pick(ROWS)])]
    assert [set(each) for each in zip(*found, strict=True)] == possible


SCORES = elementwise("x):\n        return FORWARD", "torch.exp(2 * torch.randn(64, 512))")


@pytest.mark.parametrize("forward", ["torch.argsort(x.bfloat16(), dim=-1)", "x.bfloat16().topk(32, dim=-1).indices"])
def test_of_numbers_that_the_forward_itself_rounds_any_of_equals_is_right(forward: str) -> None:
    source = SCORES.replace("FORWARD", forward)
    deck, count = deck_of(source), 512 if "argsort" in forward else 32
    assert len({call.stratum for call in deck.calls}) > 8
    caught = 0
    for call in deck.calls:
        x = call.values["x"].bfloat16()
        for stable in (x, call.values["x"]):
            order = stable.sort(dim=-1, stable=True, descending="topk" in forward).indices[:, :count]
            assert judged(source, call, [order]) == "", call.stratum
        caught += "elements differ" in judged(source, call, [order.flip(-1)])
    assert caught > 8, "in some, all are equal"


def test_the_first_of_equals_that_are_drawn_so_is_right_alone_where_it_is_promised() -> None:
    drawn = "torch.randint(0, 8, (64, 64)).float()"

    def last(x: torch.Tensor) -> torch.Tensor:
        return 63 - x.flip(-1).argmax(dim=-1)

    source = elementwise("x):\n        return x.argmax(dim=-1)", drawn)
    call = next(call for call in deck_of(source).calls if call.nominal)
    assert judged(source, call, [call.values["x"].argmax(dim=-1)]) == ""
    assert "elements differ" in judged(source, call, [last(call.values["x"])])
    source = elementwise("x):\n        return x.topk(1, dim=-1).indices", drawn)
    call = next(call for call in deck_of(source).calls if call.nominal)
    assert judged(source, call, [last(call.values["x"])[:, None]]) == "", "of which `topk` promises none"


def test_sums_in_more_precision_than_the_references_are_as_good_where_some_are_equal() -> None:
    source = elementwise(
        "x, w):\n        return torch.argsort(x @ w, dim=-1)",
        "torch.randn(64, 16).bfloat16() / 8, torch.randn(16, 4096).bfloat16()",
    )
    call = next(call for call in deck_of(source).calls if call.nominal)
    exact = call.values["x"].double() @ call.values["w"].double()
    assert bool((exact.sort(dim=-1).values.diff(dim=-1) == 0).any()), "some sums of such numbers are equal exactly"
    order = torch.argsort(call.values["x"].float() @ call.values["w"].float(), dim=-1)
    assert judged(source, call, [order]) == ""
    assert "elements differ" in judged(source, call, [order.roll(8, dims=-1)])
