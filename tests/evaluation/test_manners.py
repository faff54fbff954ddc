"""How inputs lie in memory when a module is called as users call it."""

from __future__ import annotations

import pytest
import torch

from treesearch.evaluation.open import manners

STRIDES = {manners.TRANSPOSED: (1, 3), manners.SPACED: (8, 2), manners.PADDED: (5, 1), manners.MISALIGNED: (4, 1)}


@pytest.mark.parametrize("manner", manners.LAYOUTS)
def test_the_same_values_lie_otherwise_in_memory(manner: str) -> None:
    [found] = manners.laid_out([torch.ones(3, 4)], manner)
    assert found.stride() == STRIDES[manner.removesuffix(", some of them")]
    assert (found.data_ptr() % 16 == 0) is (not manner.startswith(manners.MISALIGNED))
    for shape in ((2,), (1, 5), (4, 1), (2, 3, 4)):
        value = torch.randn(shape)
        assert torch.equal(manners.laid_out([value], manner)[0], value)
    for other in (3, torch.tensor(2.0), torch.ones(1, 1), torch.empty(0, 4)):
        assert manners.laid_out([other], manner)[0] is other


STRIDES_OF_IMAGES = {
    manners.TRANSPOSED: {
        (12, 4, 1, 24),
        (1, 40, 10, 2),
        (60, 1, 15, 3),
        (60, 20, 1, 4),
        (20, 40, 5, 1),
        (60, 5, 15, 1),
    },
    manners.PADDED: {(72, 24, 6, 1), (75, 25, 5, 1), (80, 20, 5, 1)},
}


@pytest.mark.parametrize("manner", STRIDES_OF_IMAGES)
def test_layouts_are_drawn_by_lot(manner: str) -> None:
    images = torch.randn(2, 3, 4, 5)
    found = [manners.laid_out([images], manner)[0] for _ in range(200)]
    assert all(torch.equal(one, images) for one in found)
    assert {one.stride() for one in found} == STRIDES_OF_IMAGES[manner]


def test_of_several_inputs_all_are_laid_out_otherwise_or_some() -> None:
    two = [torch.ones(2, 3), 5, torch.ones(4, 3)]
    three = [*two, torch.ones(3, 3)]

    def changed(inputs: list[object], manner: str) -> tuple[int, ...]:
        pairs = zip(manners.laid_out(inputs, manner), inputs, strict=True)
        return tuple(place for place, (laid, before) in enumerate(pairs) if laid is not before)

    assert {changed(three, manner) for manner in manners.LAYOUTS if manner not in manners.SOME} == {(0, 2, 3)}
    assert [changed(two, manner) for manner in manners.SOME] == [(2,), (0,), (2,), (0,)]
    some = {changed(three, manners.SOME[0]) for _ in range(300)}
    assert some == {(0,), (2,), (3,), (0, 2), (0, 3), (2, 3)}
