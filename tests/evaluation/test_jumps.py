"""Answers that jump where a number crosses an edge, and of which rounding says which side they are on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional

from tests.evaluation.test_inputs import deck_of, elementwise
from treesearch import problem
from treesearch.evaluation import verify
from treesearch.evaluation.jumps import AT_LEAST, Jumps, JumpWatch, Origins, between

X = torch.tensor([[0.3, -1.5], [2.5, 0.7]])


@pytest.mark.parametrize(
    ("forward", "jumps"),
    [
        (lambda x: x.sign(), True),
        (lambda x: x.round(), True),
        (lambda x: x // 0.1, True),
        (lambda x: torch.div(x, 0.1, rounding_mode="trunc"), True),
        (lambda x: x.to(torch.int8), True),
        (lambda x: x * (x > 0), True),
        (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127), True),
        (lambda x: x.gather(1, x.argmax(1, keepdim=True)), True),
        (lambda x: functional.hardshrink(x), True),
        (lambda x: torch.div(x, 0.1), False),
        (lambda x: x.half().float(), False),
        (lambda x: functional.relu(x) + functional.gelu(x).clamp(-1, 1), False),
        (lambda x: functional.softmax(x @ x, dim=-1), False),
        (lambda x: functional.max_pool2d(x[None], 2), False),
        (lambda x: functional.layer_norm(x, (2,)).logsumexp(1), False),
        (lambda x: torch.where(torch.arange(2) > 0, x, 0.0), False),
    ],
)
def test_a_reference_with_jumps_is_known_by_its_operators(
    forward: Callable[[torch.Tensor], object], jumps: bool
) -> None:
    with JumpWatch() as watch:
        forward(X)
    assert watch.found is jumps


def test_each_element_is_compared_with_what_is_nearest_of_what_it_may_be() -> None:
    jumps = Jumps(torch.tensor([1, 3]), torch.tensor([[0.0, 5.0], [1.0, 6.0]]).double(), most=2)
    expected = torch.tensor([[9.0, 0.0], [9.0, 5.0]]).double()
    settled = jumps.settled(torch.tensor([[7.0, 0.9], [7.0, 5.2]]), expected)
    assert settled.tolist() == [[9.0, 1.0], [9.0, 5.0]]
    assert expected.tolist() == [[9.0, 0.0], [9.0, 5.0]]


def test_too_many_beyond_a_jump_are_none() -> None:
    expected = torch.zeros(1, 4 * AT_LEAST).double()
    beyond = between(expected, expected, [expected + 1], exact=True)
    some = torch.zeros(expected.shape)
    some[0, :AT_LEAST] = 1
    assert torch.equal(beyond.settled(some, expected), some.double())
    some[0, AT_LEAST] = 1
    assert torch.equal(beyond.settled(some, expected), expected)


def test_what_moves_by_rounding_alone_is_no_jump() -> None:
    expected = torch.rand(8, 8).double()
    assert not len(between(expected, expected.float(), [expected * (1 + 2**-18)], exact=True).places)


QUANTIZED = elementwise("x):\n        return torch.round(x / 0.1) * 0.1", "(torch.randn(64, 64) * 20).round() / 20")
"""Every other number lies at an edge, as well as float32 has it."""


def checked(source: str, kernel: Callable[[torch.Tensor], torch.Tensor]) -> list[str]:
    """Why each call's answer is wrong."""
    subject = problem.from_source("handmade", source)
    calls = deck_of(source).calls
    return [verify.check(subject, call.stratum, call.answers, [kernel(call.values["x"])]).failure for call in calls]


def test_an_honest_kernel_that_rounds_otherwise_at_an_edge_is_right() -> None:
    beyond = []

    def by_reciprocal(x: torch.Tensor) -> torch.Tensor:
        answer = torch.round(x * (1 / 0.1)) * 0.1
        beyond.append(int(((answer - torch.round(x.double() / 0.1) * 0.1).abs() > 0.05).sum()))
        return answer

    assert not any(checked(QUANTIZED, by_reciprocal))
    assert beyond[0] > 0


def test_what_is_no_number_stands_for_nothing() -> None:
    expected = torch.ones(4).double()
    jumps = between(expected, expected, [torch.tensor([2.0, torch.inf, torch.nan, 1.0]).double()], exact=True)
    assert jumps.places.tolist() == [0]


def test_what_is_drawn_at_an_edge_is_there_for_every_kernel() -> None:
    """64 truths, or eight sums, so that no limit on how many elements may be other than float64 says would tell."""
    truths = elementwise("x):\n        return x >= 3", "torch.randint(0, 6, (8, 8)).float()")
    assert checked(truths, lambda x: x > 3)[0]
    shares = elementwise("x):\n        return (x >= 3).float().mean(-1)", "torch.randint(0, 6, (8, 512)).float()")
    assert checked(shares, lambda x: (x > 3).float().mean(-1))[0]


def test_one_that_rounds_down_is_wrong() -> None:
    anywhere = elementwise("x):\n        return torch.round(x / 0.1) * 0.1", "torch.randn(64, 64)")
    assert checked(anywhere, lambda x: torch.floor(x / 0.1) * 0.1)[0]


def test_one_whose_numbers_are_on_neither_side_is_wrong() -> None:
    assert checked(elementwise("x):\n        return torch.sign(x)", "torch.randn(64, 64)"), torch.tanh)[0]


ONE, OTHER = torch.randn(8), torch.randn(8)
FIELDS: dict[str, tuple[Callable[[], torch.Tensor], int]] = {
    "one": (lambda: (100 * ONE).round().long(), 1),
    "none": (lambda: torch.arange(8) * 2, 0),
    "an index in its digits": (lambda: ((100 * ONE).round().long() << 12) | torch.arange(8), 1),
    "two": (lambda: ((100 * ONE).round().long() << 12) | (10 * OTHER).abs().long(), 2),
    "twice the same": (lambda: (lambda rounded: rounded * 100 + rounded)(ONE.round().long()), 1),
    "in place": (lambda: ONE.long().add_(OTHER.long()), 2),
    "by a mask": (lambda: torch.where(OTHER > 0, ONE.long(), 0), 2),
    "and back": (lambda: (ONE.long().float() * 0.3).round().long(), 1),
}


@pytest.mark.parametrize(("made", "fields"), FIELDS.values(), ids=FIELDS)
def test_of_how_many_decisions_integers_are_made_is_seen(made: Callable[[], torch.Tensor], fields: int) -> None:
    with Origins() as origins:
        found = made()
    assert origins.of(found) == fields


def test_of_rows_in_which_many_numbers_are_nearly_equal_nothing_is_expected() -> None:
    jumps = Jumps(torch.tensor([3]), torch.tensor([[4.0], [5.0]]).double(), most=0, rows=True)
    expected = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).double()
    settled = jumps.settled(torch.tensor([[7.0, 7.0], [7.0, 7.0]]), expected)
    assert settled.tolist() == [[1.0, 2.0], [7.0, 7.0]]
