"""Inputs that a call of a module is given, and that perhaps nobody else holds."""

from __future__ import annotations

import gc
import sys
from typing import Any

import pytest
import torch

from treesearch.evaluation.open.contract import Broken
from treesearch.evaluation.open.loans import MOST_HOLDERS, Loan, unheld

LAYOUTS = {
    "dense": lambda: torch.randn(4, 6),
    "transposed": lambda: torch.randn(6, 4).t(),
    "padded": lambda: torch.randn(4, 9)[:, 3:],
    "truths": lambda: torch.rand(4, 6) > 0.5,
    "half": lambda: torch.randn(4, 6).bfloat16(),
    "single": lambda: torch.tensor(3.0),
}


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("made", LAYOUTS.values(), ids=LAYOUTS)
def test_what_is_unheld_has_the_memory_and_nothing_else_in_common(made: Any, device: str) -> None:
    value = made().to(device)
    found = unheld(value)
    assert (found.data_ptr(), found.stride(), found.dtype) == (value.data_ptr(), value.stride(), value.dtype)
    assert torch.equal(found, value)
    assert found._base is None
    assert not found._is_view()
    assert found.untyped_storage()._cdata != value.untyped_storage()._cdata


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_memory_stays_as_long_as_what_is_unheld(device: str) -> None:
    value = torch.arange(1 << 16, device=device)
    found = unheld(value)
    del value
    gc.collect()
    [torch.zeros(1 << 16, dtype=torch.int64, device=device) for _ in range(4)]
    assert torch.equal(found.cpu(), torch.arange(1 << 16))


def test_what_holds_no_memory_is_as_it_was() -> None:
    found = unheld(torch.empty(3, 0))
    assert (tuple(found.shape), found.dtype) == ((3, 0), torch.float32)


def test_as_many_hold_an_input_as_are_drawn() -> None:
    def held(value: object, scalar: int) -> int:
        return sys.getrefcount(value)

    found = set[int]()
    for _ in range(200):
        loan = Loan([torch.ones(3), 7])
        found.add(held(*loan.given()))
        loan.refuse_changes()
    assert len(found) == MOST_HOLDERS + 1
    assert max(found) - min(found) == MOST_HOLDERS


def test_changes_of_an_input_break_the_contract() -> None:
    inputs = [torch.ones(3), torch.zeros(2)]
    loan = Loan(inputs)
    for value in loan.given():
        value[1] = 5
    with pytest.raises(Broken, match="writes to its inputs"):
        loan.refuse_changes()


def test_changes_of_what_an_input_is_are_seen_where_somebody_holds_it() -> None:
    seen = 0
    for _ in range(100):
        loan = Loan([torch.ones(3)])
        for value in loan.given():
            value.requires_grad_()
        try:
            loan.refuse_changes()
        except Broken as told:
            seen += "requires_grad" in str(told)
    assert 0 < seen < 100


def test_a_loan_in_inference_mode_is_of_usual_tensors() -> None:
    with torch.inference_mode():
        (given,) = Loan([torch.ones(3)]).given()
    assert not given.is_inference()
