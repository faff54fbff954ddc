"""What is said of a problem's arguments."""

from __future__ import annotations

import pytest

from treesearch.records import Argument, Role, row_length


@pytest.mark.parametrize(
    ("shape", "length"), [((), 1), ((7,), 7), ((5, 64), 64), ((5, 31), 155), ((3, 40, 1), 40), ((3, 4, 2), 24)]
)
def test_rows_are_joined_while_they_are_short(shape: tuple[int, ...], length: int) -> None:
    assert row_length(shape) == length


@pytest.mark.parametrize(
    ("shape", "alone"),
    [
        ((64,), True),
        ((63,), False),
        ((), False),
        ((64, 1), True),
        ((8, 64, 1), True),
        ((20, 3), False),
        ((32, 31), True),
        ((2, 100), False),
        ((100, 27, 27), False),
    ],
)
def test_outputs_of_single_numbers_are_those_without_rows(shape: tuple[int, ...], alone: bool) -> None:
    assert Argument("out", Role.OUTPUT, "float32", shape).holds_numbers is alone
    assert not Argument("out", Role.OUTPUT, "int64", shape).holds_numbers
