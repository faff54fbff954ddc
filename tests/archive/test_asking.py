"""What every archive keeps of asking models: who has which role, what failed and what that cost."""

from __future__ import annotations

import sqlite3
import zlib
from base64 import b64encode
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from treesearch.archive import Archive, Author, Questions, texts
from treesearch.records import Answer, Run, Spending, Stage, Turn, Usage

if TYPE_CHECKING:
    from tests.archive.conftest import Samples


@pytest.fixture
def run(archive: Archive, samples: Samples) -> Run:
    return samples.open(archive)


def test_spending_counts_attempts_that_were_billed_and_no_question_that_nobody_answered(
    archive: Archive, samples: Samples, run: Run
) -> None:
    archive.save_answer(samples.request(run), samples.answer(usage=Usage(5, 7, 0.5)))
    archive.save_failed_ask(samples.request(run), "openai/o3", "cut off", usage=Usage(5, 9, 0.25))
    archive.save_failed_ask(samples.request(run), "openai/o3", "timeout")
    refused = Answer("", "openai/o3", failure="content filter")
    archive.save_answer(samples.request(run, ordinal="1"), refused)
    assert archive.spend(run.id) == Spending(2, 0, 10, 16, 0.75)
    assert archive.answer(samples.request(run, ordinal="1").id) == replace(
        refused, created=archive.answers(run.id)[1][1].created
    )


def test_spending_is_told_by_who_answered(archive: Archive, samples: Samples, run: Run) -> None:
    for ordinal, usage in (("0", Usage(5, 7, 0.5)), ("1", Usage(3, 1))):
        archive.save_answer(samples.request(run, ordinal=ordinal), Answer("a", "file/answers", "agent", usage=usage))
    archive.save_answer(samples.request(run, ordinal="2"), Answer("a", "openai/o3", usage=Usage(1, 1, 0.25)))
    archive.save_answer(samples.request(run, ordinal="3"), Answer("", "openai/o3", failure="content filter"))
    archive.save_failed_ask(samples.request(run), "openai/o3", "cut off", usage=Usage(5, 9, 0.125))
    assert archive.accounts(run.id) == {
        "agent": Spending(2, 1, 8, 8, 0.5),
        "openai/o3": Spending(1, 0, 1, 1, 0.25),
        "": Spending(1, 0, 5, 9, 0.125),
    }
    assert archive.spend(run.id) == Spending(4, 1, 14, 18, 0.875)


def test_authors_are_those_who_answered(archive: Archive, samples: Samples, run: Run) -> None:
    agent, model, nobody = (samples.request(run, stage=Stage.REPAIR, ordinal=str(number)) for number in range(3))
    archive.save_answer(agent, Answer("a", "file/answers", "agent", "g++"))
    archive.save_answer(model, Answer("a", "openai/o3"))
    archive.save_answer(nobody, Answer("", "openai/o3", failure="content filter"))
    found = archive.authors(run.id)
    assert found == {
        agent.id: Author("file/answers", "agent", "g++", Stage.REPAIR),
        model.id: Author("openai/o3", "", "", Stage.REPAIR),
    }
    assert [one.name for one in found.values()] == ["agent", "openai/o3"]


def test_a_run_keeps_which_model_has_which_role(archive: Archive, samples: Samples) -> None:
    config = replace(samples.config, models=(), idea_models=("openai/a=2", "openai/b"), code_models=("file/answers",))
    run = archive.open_run(samples.problem, config, samples.device)
    assert archive.run(run.id).config == config
    swapped = replace(config, idea_models=config.code_models, code_models=config.idea_models)
    assert archive.open_run(samples.problem, swapped, samples.device).id != run.id


LONG = "What an H100 has.\n" * texts.WORTH_PACKING


@pytest.mark.parametrize("said", ["short", LONG, f"{texts.PACKED}and no more", "é🙂" * texts.WORTH_PACKING])
def test_an_answer_reads_as_it_was_said_however_it_is_kept(
    archive: Archive, samples: Samples, run: Run, said: str
) -> None:
    request = samples.request(run)
    archive.save_answer(request, samples.answer(said))
    found = archive.exchange(request.id)
    assert found is not None
    assert found[1].text == said


def test_a_long_text_takes_little_of_a_file(tmp_path: Path, samples: Samples) -> None:
    with Archive(tmp_path / "archive.db") as archive:
        run = samples.open(archive)
        archive.save_answer(samples.request(run), samples.answer(LONG))
        archive.save_answer(samples.request(run, ordinal="1"), samples.answer("short"))
    with closing(sqlite3.connect(tmp_path / "archive.db")) as connection:
        packed, short = (kept for (kept,) in connection.execute("SELECT text FROM answers ORDER BY ordinal"))
    assert packed.startswith(texts.PACKED)
    assert len(packed) < len(LONG) / 100
    assert short == "short"


def test_an_answer_is_as_long_as_it_was_said_however_it_is_kept(archive: Archive, samples: Samples, run: Run) -> None:
    said = ("short", LONG, f"{texts.PACKED}17:and no more", "é🙂" * texts.WORTH_PACKING)
    for ordinal, text in enumerate(said):
        archive.save_answer(samples.request(run, ordinal=str(ordinal)), samples.answer(text))
    assert sorted(size.characters for size in archive.answer_sizes()) == sorted(map(len, said))


def test_what_was_packed_before_lengths_were_told_is_read(tmp_path: Path, samples: Samples) -> None:
    path = tmp_path / "archive.db"
    with Archive(path) as archive:
        request = samples.request(samples.open(archive))
        archive.save_answer(request, samples.answer("short"))
    kept = texts.PACKED + b64encode(zlib.compress(LONG.encode())).decode()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE answers SET passages = NULL, prompt = ?, text = ?", (kept, kept))
    with Archive(path) as archive:
        found = archive.exchange(request.id)
        assert found is not None
        assert (found[0].prompt, found[1].text) == (LONG, LONG)
        assert [size.characters for size in archive.answer_sizes()] == [len(kept)]


def test_a_run_tells_which_of_its_questions_it_knows(archive: Archive, samples: Samples, run: Run) -> None:
    answered = [
        samples.request(run, 1, Stage.IDEAS, "0", "p"),
        samples.request(run, 3, Stage.IDEAS, "1", "p"),
        samples.request(run, 2, Stage.KERNEL, "0.0", "p"),
    ]
    begun = samples.request(run, ordinal="1")
    for request in answered:
        archive.save_answer(request, samples.answer())
    archive.save_turn(begun, Turn("openai/o3", 0, "I build it first.", ()))
    known = archive.questions(run.id)
    assert (known.answered, known.begun) == ({one.id for one in answered}, {begun.id})
    assert sorted(known.ideas) == [(1, "p"), (3, "p")]
    assert archive.questions("another") == Questions(set(), set(), [])
