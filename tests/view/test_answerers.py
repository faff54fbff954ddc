"""Whose kernels worked: the comparison of answerers by model, help and repair."""

from __future__ import annotations

import pytest

from tests.view.test_views import DEVICE, HOSTILE, harmless, printed, verified
from treesearch.archive import Author
from treesearch.records import Entry, Evaluation, Kernel, Protocol, Request, Stage, Status
from treesearch.view import answerers
from treesearch.view.answerers import Tally

WORKS, FAILS, DUE = 1.0, None, 0.0
"""Milliseconds of a kernel, of 4 that eager takes: one that works, one that fails, and one without a verdict yet."""


class Answered:
    """Kernels with who wrote them."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.authors: dict[str, Author] = {}

    def add(self, milliseconds: float | None, by: str = "", help: str = "", stage: Stage = Stage.KERNEL) -> None:
        place = f"0.{len(self.entries)}"
        request = Request("r1", 0, stage, "d1", "", place, "prompt")
        self.authors[request.id] = Author("file/answers", by, help, stage)
        self.entries.append(self._entry(Kernel("r1", 0, place, "cpp", "source", request.id), milliseconds))

    def _entry(self, kernel: Kernel, milliseconds: float | None) -> Entry:
        if milliseconds is FAILS:
            return Entry(kernel, Evaluation(Status.WRONG, DEVICE.id, Protocol(0.01), "wrong"))
        return verified(kernel, milliseconds, compiled=False) if milliseconds else Entry(kernel)

    def tallies(self) -> tuple[Tally, ...]:
        return answerers.tallies(self.entries, self.authors)


@pytest.fixture
def answered() -> Answered:
    return Answered()


def figures(tally: Tally) -> tuple[int, int, float | None, float | None]:
    return tally.judged, tally.verified, tally.best, tally.median


def test_kernels_are_counted_by_who_answered_with_what_help_and_whether_to_repair(answered: Answered) -> None:
    for time in (1.0, 2.0, 4.0, FAILS):
        answered.add(time, "agent", "g++")
    answered.add(0.5, "agent", "g++", Stage.REPAIR)
    answered.add(8.0, "agent")
    answered.add(FAILS, "other", "g++")
    assert [(one.by, one.help, one.stage) for one in answered.tallies()] == [
        ("agent", "g++", Stage.KERNEL),
        ("agent", "", Stage.KERNEL),
        ("agent", "g++", Stage.REPAIR),
        ("other", "g++", Stage.KERNEL),
    ]
    assert list(map(figures, answered.tallies())) == [
        (4, 3, 4.0, 2.0),
        (1, 1, 0.5, 0.5),
        (1, 1, 8.0, 8.0),
        (1, 0, None, None),
    ]


def test_a_model_that_gives_no_name_is_called_as_it_was_asked(answered: Answered) -> None:
    answered.add(WORKS)
    assert [one.by for one in answered.tallies()] == ["file/answers"]


def test_none_in_a_word_is_no_help(answered: Answered) -> None:
    answered.add(WORKS, help="None ")
    answered.add(WORKS)
    assert [(one.help, one.judged) for one in answered.tallies()] == [("", 2)]


def test_what_is_not_judged_and_what_nobody_answered_does_not_count(answered: Answered) -> None:
    answered.add(DUE)
    answered.add(FAILS)
    answered.authors.popitem()
    assert answered.tallies() == ()


def test_json_has_rates_and_null_where_there_is_nothing_to_tell(answered: Answered) -> None:
    answered.add(WORKS, "agent", "g++")
    answered.add(FAILS, "agent", "g++")
    answered.add(FAILS, "other")
    assert answerers.as_json(answered.tallies())["answerers"] == [
        {
            "by": "agent",
            "help": "g++",
            "stage": "kernel",
            "judged": 2,
            "verified": 1,
            "verified_rate": 0.5,
            "best_speedup": 4.0,
            "median_speedup": 4.0,
        },
        {
            "by": "other",
            "help": None,
            "stage": "kernel",
            "judged": 1,
            "verified": 0,
            "verified_rate": 0.0,
            "best_speedup": None,
            "median_speedup": None,
        },
    ]


def test_the_table_compares_and_is_harmless(answered: Answered) -> None:
    answered.add(WORKS, HOSTILE, HOSTILE)
    assert printed(answerers.table(answered.tallies())).strip() == "", "one alone is compared with nothing"
    answered.add(FAILS, "other")
    written = printed(answerers.table(answered.tallies()))
    assert harmless(written)
    first, second = written.splitlines()[2:]
    assert first.split()[-4:] == ["(100", "%)", "4.00×", "4.00×"]
    assert second.split() == ["other", "none", "a", "kernel", "1", "0", "(0", "%)", "–", "–"]
