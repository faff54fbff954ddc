"""What a launch finds in its outputs."""

from __future__ import annotations

import random

import pytest
import torch

from treesearch.evaluation.buffers import SOILED, BufferSet, Left
from treesearch.evaluation.checks import Check
from treesearch.records import Argument, Role, Signature

pytestmark = pytest.mark.untimed


def outputs(*shapes: tuple[int, ...], dtype: str = "float32") -> BufferSet:
    arguments = tuple(
        Argument(f"out{number}", Role.OUTPUT, dtype, shape, f"out{number}") for number, shape in enumerate(shapes)
    )
    return BufferSet(Signature(arguments))


def filled(buffers: BufferSet, left: Left, seed: int = 0) -> torch.Tensor:
    buffers.fill({}, left=left, chance=random.Random(seed))
    return buffers.outputs()[0].clone()


@pytest.mark.parametrize("left", [Left.OWN, Left.ZEROS])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "bool"])
def test_a_few_elements_are_not_as_a_sample_would_have_it(left: Left, dtype: str) -> None:
    buffers = outputs((64, 128), dtype=dtype)
    for tensor in buffers.outputs():
        tensor.zero_()
    first, second = filled(buffers, left, 1), filled(buffers, Left.ZEROS, 2)
    raw = [
        one.contiguous().view(torch.uint8).view(64 * 128, -1).any(dim=1).nonzero().flatten() for one in (first, second)
    ]
    assert [len(one) for one in raw] == [SOILED, SOILED]
    assert raw[0].tolist() != raw[1].tolist(), "they are drawn"
    if first.is_floating_point():
        assert int(first.isnan().sum()) == SOILED


@pytest.mark.parametrize(("size", "expected"), [(1, 1), (64, 1), (65, 2), (10_000, SOILED)])
def test_of_a_small_output_few_are_soiled(size: int, expected: int) -> None:
    assert int(filled(outputs((size,)), Left.ZEROS).isnan().sum()) == expected


def test_nothing_is_left_of_what_was_there_in_poison_and_all_is_changed_where_it_is_scrambled() -> None:
    buffers = outputs((100,))
    assert bool(filled(buffers, Left.POISON).isnan().all())
    buffers.outputs()[0].fill_(2)
    assert not bool((filled(buffers, Left.SCRAMBLED) == 2).any())


def test_without_the_check_outputs_stay_as_they_are() -> None:
    buffers = outputs((100,))
    buffers.outputs()[0].fill_(2)
    buffers.fill({}, frozenset({Check.POISON}), left=Left.ZEROS)
    assert bool((buffers.outputs()[0] == 2).all())
