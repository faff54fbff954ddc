"""How inputs lie in memory when a module is called as users call it."""

from __future__ import annotations

import random

import pytest
import torch

from treesearch.evaluation.open import manners
from treesearch.evaluation.open.loans import unheld

STRIDES = {
    manners.TRANSPOSED: {(1, 3)},
    manners.SPACED: {(8, 2)},
    manners.PADDED: {(5, 1), (8, 1)},
    manners.MISALIGNED: {(4, 1)},
}


@pytest.mark.parametrize("manner", manners.LAYOUTS)
def test_the_same_values_lie_otherwise_in_memory(manner: str) -> None:
    layouts, kind = manners.Layouts(), manner.removesuffix(", some of them")
    found = [layouts.laid_out([torch.ones(3, 4)], manner)[0] for _ in range(4)]
    assert {one.stride() for one in found} == STRIDES[kind]
    for shape in ((2,), (1, 5), (4, 1), (2, 3, 4)):
        value = torch.randn(shape)
        assert all(torch.equal(manners.Layouts().laid_out([value], manner)[0], value) for _ in range(8))
    for other in (3, torch.tensor(2.0), torch.ones(1, 1), torch.empty(0, 4)):
        assert layouts.laid_out([other], manner)[0] is other


STRIDES_OF_IMAGES = {
    manners.TRANSPOSED: {
        (12, 4, 1, 24),
        (1, 40, 10, 2),
        (60, 1, 15, 3),
        (60, 20, 1, 4),
        (20, 40, 5, 1),
        (60, 5, 15, 1),
    },
    manners.PADDED: {
        (72, 24, 6, 1),
        (75, 25, 5, 1),
        (80, 20, 5, 1),
        (120, 40, 10, 1),
        (120, 40, 5, 1),
        (120, 20, 5, 1),
    },
}


@pytest.mark.parametrize("manner", STRIDES_OF_IMAGES)
def test_layouts_have_their_turn_before_one_comes_again(manner: str) -> None:
    images, wanted = torch.randn(2, 3, 4, 5), STRIDES_OF_IMAGES[manner]
    layouts, some = manners.Layouts(), f"{manner}, some of them"
    for _ in range(3):
        found = [layouts.laid_out([images], kind)[0] for kind in (manner, some) for _ in range(len(wanted) // 2)]
        assert all(torch.equal(one, images) for one in found)
        assert {one.stride() for one in found} == wanted


def test_what_begins_at_no_round_address_does_so_in_several_ways() -> None:
    layouts, value = manners.Layouts(), torch.randn(5, 7)
    found = [layouts.laid_out([value], manners.MISALIGNED)[0] for _ in range(4)]
    assert sorted(one.storage_offset() for one in found) == [1, 2, 4, 8]
    assert all(one.is_contiguous() for one in found)


def test_a_module_cannot_tell_what_comes_by_what_it_does_to_random() -> None:
    images, orders = torch.randn(2, 3, 4, 5), set[tuple[int, ...]]()
    for _ in range(20):
        random.seed(0)
        torch.manual_seed(0)
        orders.add(manners.Layouts().laid_out([images], manners.TRANSPOSED)[0].stride())
    assert len(orders) > 1


def test_of_several_inputs_all_are_laid_out_otherwise_or_some() -> None:
    two = [torch.ones(2, 3), 5, torch.ones(4, 3)]
    three = [*two, torch.ones(3, 3)]
    layouts = manners.Layouts()

    def changed(inputs: list[object], manner: str) -> tuple[int, ...]:
        pairs = zip(layouts.laid_out(inputs, manner), inputs, strict=True)
        return tuple(place for place, (laid, before) in enumerate(pairs) if laid is not before)

    assert {changed(three, manner) for manner in manners.LAYOUTS if manner not in manners.SOME} == {(0, 2, 3)}
    assert [changed(two, manner) for manner in manners.SOME] == [(2,), (0,), (2,), (0,)]
    some = {changed(three, manners.SOME[0]) for _ in range(300)}
    assert some == {(0,), (2,), (3,), (0, 2), (0, 3), (2, 3)}


def test_gradients_are_wanted_of_leaves_of_what_has_a_history_and_of_parameters_alone_in_turn() -> None:
    layouts, value, found = manners.Layouts(), torch.randn(3, 4), set[tuple[bool, bool]]()
    for _ in manners.ORIGINS:
        with torch.enable_grad():
            given = layouts.origin()(unheld(value))
        found.add((given.requires_grad, given.is_leaf))
        assert given.data_ptr() == value.data_ptr()
    assert found == {(True, True), (True, False), (False, True)}


def test_by_lot_some_parameters_are_frozen_or_all_and_none_is_afterwards() -> None:
    model, found = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)), set[int]()
    for _ in range(100):
        with manners.frozen(model):
            found.add(sum(parameter.requires_grad for parameter in model.parameters()))
        assert all(parameter.requires_grad for parameter in model.parameters())
    assert {0, 4} < found


@pytest.mark.parametrize("origin", manners.ORIGINS)
def test_what_is_no_floating_point_tensor_has_no_gradients(origin: manners.Origin) -> None:
    whole = torch.arange(3)
    assert origin(whole) is whole
    assert origin(2) == 2
