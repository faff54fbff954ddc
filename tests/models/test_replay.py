"""`replay/ARCHIVE`: recorded answers in their places."""

from __future__ import annotations

from dataclasses import replace

import pytest

from treesearch.errors import AnswersExhausted
from treesearch.models import ReplayModel
from treesearch.records import Answer, Request, Sampling, Stage, Usage

ASKED = Request("run-1", 2, Stage.KERNEL, "problem", "parent", "3.0", "the recorded prompt")
GIVEN = Answer(
    "the code",
    "file/answers",
    answered_by="some-model",
    help="g++",
    sampling=Sampling(temperature=0.3),
    usage=Usage(100, 50, 0.25),
    seconds=12.5,
    created="2026-11-21T10:00:00+00:00",
)


def test_the_same_place_in_another_run_gets_the_recorded_answer() -> None:
    model = ReplayModel("replay/old.db", [(ASKED, GIVEN)])
    given = model.ask(replace(ASKED, run="run-2", round=5, prompt="another prompt"))
    assert (given.text, given.help, given.sampling) == ("the code", "g++", GIVEN.sampling)
    assert (given.model, given.answered_by) == ("replay/old.db", "some-model")


def test_a_replayed_answer_uses_no_tokens_and_costs_nothing() -> None:
    given = ReplayModel("replay/", [(ASKED, GIVEN)]).ask(ASKED)
    assert given.usage == Usage(0, 0, 0.0)
    assert (given.seconds, given.created) == (None, "")


def test_an_answer_without_another_name_was_given_by_the_model_asked() -> None:
    model = ReplayModel("replay/", [(ASKED, replace(GIVEN, model="openai/o3", answered_by=""))])
    assert model.ask(ASKED).answered_by == "openai/o3"


@pytest.mark.parametrize(
    "elsewhere",
    [
        replace(ASKED, problem="another"),
        replace(ASKED, parent="another"),
        replace(ASKED, parent=""),
        replace(ASKED, stage=Stage.REPAIR),
        replace(ASKED, ordinal="3.1"),
    ],
)
def test_another_place_has_no_answer_and_is_counted(elsewhere: Request) -> None:
    model = ReplayModel("replay/", [(ASKED, GIVEN)])
    assert model.misses == 0
    for expected in (1, 2):
        with pytest.raises(AnswersExhausted, match="holds no answer"):
            model.ask(elsewhere)
        assert model.misses == expected
    model.ask(ASKED)
    assert model.misses == 2


def test_of_two_answers_in_one_place_the_first_wins() -> None:
    again = replace(ASKED, run="run-2")
    model = ReplayModel("replay/", [(ASKED, GIVEN), (again, replace(GIVEN, text="later"))])
    assert model.ask(again).text == "the code"


def test_it_knows_which_answers_it_has() -> None:
    model = ReplayModel("replay/", [(ASKED, GIVEN), (replace(ASKED, stage=Stage.IDEAS, parent="", ordinal="0"), GIVEN)])
    assert model.has(Stage.KERNEL, "parent", "3.0")
    assert model.has(Stage.IDEAS, "", "0")
    assert not model.has(Stage.IDEAS, "parent", "0")
    assert not model.has(Stage.KERNEL, "parent", "3.1")
    assert model.misses == 0


@pytest.mark.parametrize(
    ("answers", "clause"),
    [
        ([], "nothing recorded for this problem"),
        ([GIVEN, GIVEN], "recorded 2026-11-21, answered by some-model via file/"),
        ([replace(GIVEN, created="")], "recorded at an unknown date, answered by some-model via file/"),
        (
            [GIVEN, replace(GIVEN, model="openai/o3", answered_by="", created="2026-11-19T23:00:00+00:00")],
            "recorded 2026-11-19 to 2026-11-21, answered by some-model via file/ and openai/o3",
        ),
    ],
)
def test_a_recording_is_described_in_one_clause(answers: list[Answer], clause: str) -> None:
    recordings = [(replace(ASKED, ordinal=str(n)), answer) for n, answer in enumerate(answers)]
    assert ReplayModel("replay/", recordings).described() == clause
