"""What every archive keeps of the way to an answer: what a model asked of a tool, what it was told, what that took."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.archive.older import before_overviews
from treesearch.archive import Archive
from treesearch.errors import ArchiveError
from treesearch.records import Answer, Request, Run, Spending, ToolCall, Turn, Usage

if TYPE_CHECKING:
    from tests.archive.conftest import Samples

MODEL = "openai/o3"


@pytest.fixture
def run(archive: Archive, samples: Samples) -> Run:
    return samples.open(archive)


def turn(number: int, model: str = MODEL, usage: Usage | None = None) -> Turn:
    function = {"name": "build", "arguments": '{"source": "int µ;"}'}
    message = {
        "role": "assistant",
        "content": "Let me see.",
        "tool_calls": [{"id": f"c{number}", "function": function}],
    }
    return Turn(model, number, json.dumps(message), (f"It builds: {number}",), usage or Usage(100, 10, 0.5), 1.5)


def test_turns_come_back_whole_each_models_in_order(archive: Archive, samples: Samples, run: Run) -> None:
    request = samples.request(run)
    kept = [turn(0), turn(1, usage=Usage()), turn(0, "openai/z")]
    for one in (kept[1], kept[2], kept[0]):
        archive.save_turn(request, one)
    assert archive.turns(request.id) == tuple(kept)
    assert archive.turns(samples.request(run, ordinal="9").id) == ()
    assert kept[0].calls == (ToolCall("c0", "build", '{"source": "int µ;"}'),)


def test_a_turn_that_is_stored_stays(archive: Archive, samples: Samples, run: Run) -> None:
    request = samples.request(run)
    for usage in (Usage(1, 2, 3.0), Usage(4, 5, 6.0)):
        archive.save_turn(request, turn(0, usage=usage))
    assert [one.usage for one in archive.turns(request.id)] == [Usage(1, 2, 3.0)]


def test_what_no_text_can_hold_is_replaced_in_reports(archive: Archive, samples: Samples, run: Run) -> None:
    request = samples.request(run)
    archive.save_turn(request, Turn(MODEL, 0, turn(0).message, ("a\0b\ud800",)))
    assert archive.turns(request.id)[0].reports == ("a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}",)


def test_a_turn_of_an_unknown_run_is_refused(archive: Archive, samples: Samples, run: Run) -> None:
    with pytest.raises(ArchiveError, match="refers to one it does not hold"):
        archive.save_turn(Request("unknown", 0, samples.request(run).stage, "", "", "0", ""), turn(0))


def test_turns_are_spent_once_whether_they_led_to_an_answer_or_not(
    archive: Archive, samples: Samples, run: Run
) -> None:
    """The answer's own usage counts the turns before it; those of a model that gave up count by themselves."""
    answered, refused = samples.request(run), samples.request(run, ordinal="1")
    for request in (answered, refused):
        archive.save_turn(request, turn(0))
    archive.save_turn(answered, turn(0, "openai/other"))
    archive.save_turn(answered, turn(1, "openai/other", Usage()))
    assert archive.spend(run.id) == Spending(3, 0, 300, 30, 1.5)
    archive.save_answer(answered, samples.answer(usage=Usage(1000, 100, 1.0)))
    archive.save_answer(refused, Answer("", MODEL, failure="content filter"))
    assert archive.spend(run.id) == Spending(3, 0, 1200, 120, 2.0)
    assert {(one.model, one.number) for one in archive.open_turns(run.id)} == {
        (MODEL, 0),
        ("openai/other", 0),
        ("openai/other", 1),
    }


def test_a_published_run_takes_its_turns_along(archive: Archive, samples: Samples, run: Run, tmp_path: Path) -> None:
    archive.save_turn(samples.request(run), turn(0))
    with Archive(tmp_path / "record.db") as record:
        record.merge(archive, run.id)
        assert record.turns(samples.request(run).id) == (turn(0),)


def test_an_archive_from_before_turns_is_upgraded_when_it_is_opened(tmp_path: Path, samples: Samples) -> None:
    path = tmp_path / "archive.db"
    with Archive(path) as archive:
        run = samples.fill(archive)
        answers = archive.answers(run.id)
        archive.seal()
    with closing(sqlite3.connect(path)) as older, older:
        before_overviews(older)
        older.execute("DROP TABLE turns")
        older.execute("UPDATE alembic_version SET version_num = '0008'")
    with Archive(path, read_only=True) as archive:
        assert (archive.answers(run.id), archive.open_turns(run.id)) == (answers, ())
    with Archive(path) as archive:
        archive.save_turn(samples.request(run), turn(0))
        assert archive.turns(samples.request(run).id) == (turn(0),)
