"""Figures and foreign text on a line of a terminal."""

from __future__ import annotations

import pytest

from treesearch.records import Budget, Evaluation, Protocol, Spending, Status
from treesearch.view import text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (0.0636, "0.0636 ms"),
        (0.00442, "0.00442 ms"),
        (0.0000412345, "0.0000412 ms"),
        (0.25, "0.25 ms"),
        (1.2345, "1.23 ms"),
        (999.4, "999 ms"),
        (12345.0, "12345 ms"),
    ],
)
def test_times_have_three_digits_and_a_unit(value: float | None, shown: str) -> None:
    assert text.milliseconds(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(3.02e12, "3.02 TB/s"), (5.37e8, "537 MB/s"), (999_600.0, "1 MB/s"), (999.0, "999 B/s"), (2.5e15, "2.5 PB/s")],
)
def test_quantities_have_three_digits_and_a_decimal_prefix(value: float, shown: str) -> None:
    assert text.quantity(value, "B/s") == shown


def test_statuses_are_words() -> None:
    assert text.status(Status.BROKE_CONTRACT) == "broke contract"
    assert not [status for status in Status if "_" in text.status(status)]


@pytest.mark.parametrize(
    ("spent", "shown"),
    [
        (Spending(), "0 tokens, $0.00"),
        (Spending(3, 0, 1200, 34, 0.5), "1,234 tokens, $0.50"),
        (Spending(3, 0, 1200, 34, 0.0042), "1,234 tokens, $0.0042"),
        (Spending(3, 1, 1200, 34, 0.5), "1,234 tokens, $0.50, 1 answer unpriced"),
        (Spending(3, 3, 7, None, None), "7 tokens, unpriced"),
        (Spending(3, 3, None, None, None), "unpriced"),
    ],
)
def test_what_is_not_known_of_the_spend_is_not_called_nothing(spent: Spending, shown: str) -> None:
    assert text.spend(spent) == shown


def test_a_budget_stands_beside_what_is_spent_of_it() -> None:
    spent = Spending(3, 0, 1200, 34, 0.5)
    assert text.spend(spent, Budget(usd=2.0)) == "1,234 tokens, $0.50 of $2.00"
    assert text.spend(spent, Budget(tokens=10_000)) == "1,234 of 10,000 tokens, $0.50"


@pytest.mark.parametrize("character", ["\x00", "\x07", "\x1b", "\x7f", "\x9b", "\u202e", "\u200b", "\ud800", "\r"])
def test_what_could_steer_a_terminal_is_made_visible(character: str) -> None:
    assert text.visible(f"a{character}b") == "a\ufffdb"
    assert character not in text.one_line(f"a{character}b")


def test_layout_and_letters_of_any_script_stay() -> None:
    assert text.visible("ü\n\t漢 ‖×‖") == "ü\n\t漢 ‖×‖"


def test_one_line_is_cut_at_its_limit() -> None:
    assert text.one_line("one\n  two\tthree", 9) == "one two …"


def test_the_reason_of_a_failed_build_is_its_first_error() -> None:
    log = "kernel.cpp: In function ‘f’:\nkernel.cpp:3:1: warning: x\nkernel.cpp:9:2: error: ‘y’ was not declared\n"
    assert text.reason(_failed(Status.BUILD_FAILED, log)) == "kernel.cpp:9:2: error: ‘y’ was not declared"
    assert text.reason(_failed(Status.BUILD_FAILED, LINKER)) == "k.cpp:(.text+0x1): undefined reference to `f'"
    assert text.reason(_failed(Status.WRONG, "worst\nerror")) == "worst error"


LINKER = "ld: in function `launch':\nk.cpp:(.text+0x1): undefined reference to `f'\ncollect2: error: ld returned 1\n"


def _failed(status: Status, error: str) -> Evaluation:
    return Evaluation(status, "device", Protocol(0.01), error)
