"""`treesearch questions` and `treesearch answer`, on questions that a run put into its folder."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.archive.conftest import Samples
from tests.steps import scripted
from treesearch.archive import Archive
from treesearch.errors import Waiting
from treesearch.models import FileModel
from treesearch.records import Answer, Request, Run, Stage

CODE = '```cuda\n#include "problem.h"\nextern "C" int launch(float* out) { return 0; }\n```\n'
IDEAS = '```json\n[{"title": "Tile it", "mechanism": "Shared memory holds a tile."}]\n```\n'


@pytest.fixture
def run(tmp_path: Path) -> Run:
    samples = Samples()
    with Archive(tmp_path / ".treesearch/archive.db") as store:
        config = replace(samples.config, models=("openai/o3",), code_models=("file/answers=2",))
        return store.open_run(samples.problem, replace(config, language="cuda"), samples.device)


def put(folder: Path, run: Run, stage: Stage, ordinal: str = "0") -> Request:
    """Ask a question as a search of this run does."""
    request = Request(run.id, 1, stage, run.problem, "", ordinal, f"Prompt {stage} {ordinal}.")
    with pytest.raises(Waiting):
        FileModel(f"file/{folder}/answers").ask(request)
    return request


def typed(folder: Path, *words: object, code: int = 0) -> str:
    """Standard output, or what went wrong."""
    done = scripted.typed(*words, cwd=folder)
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


def give(folder: Path, request: Request, text: str, *options: str, code: int = 0) -> str:
    (folder / "reply.md").write_text(text)
    return typed(folder, "answer", request.id, "reply.md", *options, code=code)


def listed(folder: Path, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(typed(folder, "questions", *words, "--json"))
    return found


def test_open_questions_are_listed_with_where_they_lie(tmp_path: Path, run: Run) -> None:
    ideas, kernel = put(tmp_path, run, Stage.IDEAS), put(tmp_path, run, Stage.KERNEL)
    assert set(typed(tmp_path, "questions").splitlines()) == {
        f"{ideas.id}  ideas   answers/{ideas.id}.prompt.md",
        f"{kernel.id}  kernel  answers/{kernel.id}.prompt.md",
    }
    (described,) = [question for question in listed(tmp_path, run.id) if question["id"] == kernel.id]
    assert described == {
        "id": kernel.id,
        "run": run.id,
        "round": 1,
        "stage": "kernel",
        "prompt": f"answers/{kernel.id}.prompt.md",
        "answer": f"answers/{kernel.id}.answer.md",
    }


def test_what_is_answered_or_belongs_to_another_run_is_not_listed(tmp_path: Path, run: Run) -> None:
    in_file, in_archive = put(tmp_path, run, Stage.KERNEL), put(tmp_path, run, Stage.KERNEL, "1")
    put(tmp_path, replace(run, id="another"), Stage.KERNEL)
    still = put(tmp_path, run, Stage.KERNEL, "2")
    give(tmp_path, in_file, CODE)
    with Archive(tmp_path / ".treesearch/archive.db") as store:
        store.save_answer(in_archive, Answer(CODE, "file/answers"))
    assert [question["id"] for question in listed(tmp_path)] == [still.id]


def test_a_question_whose_note_was_lost_is_listed_all_the_same(tmp_path: Path, run: Run) -> None:
    kernel = put(tmp_path, run, Stage.KERNEL)
    (tmp_path / f"answers/.{kernel.id}.json").write_text("{")
    assert [(question["id"], question["stage"]) for question in listed(tmp_path)] == [(kernel.id, None)]
    assert "neither ideas nor code" in give(tmp_path, kernel, "nothing", code=2)
    give(tmp_path, kernel, CODE)


def test_a_run_that_waits_for_nothing_says_so(tmp_path: Path, run: Run) -> None:
    assert typed(tmp_path, "questions") == ""
    assert listed(tmp_path) == []


def test_an_answer_is_read_by_the_search_as_it_was_given(tmp_path: Path, run: Run) -> None:
    kernel = put(tmp_path, run, Stage.KERNEL)
    give(tmp_path, kernel, CODE, "--answered-by", "agent\n1.0", "--help-used", "nvcc")
    answer = FileModel(f"file/{tmp_path}/answers").ask(kernel)
    assert (answer.text, answer.answered_by, answer.help) == (CODE, "agent 1.0", "nvcc")


def test_front_matter_of_the_file_is_kept_and_flags_go_before_it(tmp_path: Path, run: Run) -> None:
    kernel = put(tmp_path, run, Stage.KERNEL)
    give(tmp_path, kernel, f"---\nmodel: m\nhelp: g++\n---\n{CODE}", "--help-used", "nvcc")
    answer = FileModel(f"file/{tmp_path}/answers").ask(kernel)
    assert (answer.text, answer.answered_by, answer.help) == (CODE, "m", "nvcc")


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_file_that_says_only_who_answers_is_no_answer_yet(tmp_path: Path, run: Run, mark: str) -> None:
    kernel = put(tmp_path, run, Stage.KERNEL)
    (tmp_path / f"answers/{kernel.id}.answer.md").write_text(f"{mark}---\nmodel: m\n---\n\n", encoding="utf-8")
    with pytest.raises(Waiting):
        FileModel(f"file/{tmp_path}/answers").ask(kernel)
    assert [question["id"] for question in listed(tmp_path)] == [kernel.id]
    give(tmp_path, kernel, CODE)


@pytest.mark.parametrize(
    ("stage", "text", "reason"),
    [
        (Stage.KERNEL, " \n", "is empty"),
        (Stage.KERNEL, IDEAS, "holds no code block with a launch function"),
        (Stage.REPAIR, "I could not.", "holds no code block with a launch function"),
        (Stage.KERNEL, CODE[:-5], "stops within a code block"),
        (Stage.IDEAS, CODE, "holds no ideas"),
    ],
)
def test_an_answer_that_the_search_could_not_use_is_refused(
    tmp_path: Path, run: Run, stage: Stage, text: str, reason: str
) -> None:
    request = put(tmp_path, run, stage)
    assert reason in give(tmp_path, request, text, code=2)
    assert [question["id"] for question in listed(tmp_path)] == [request.id], "the question stays open"


def test_ideas_answer_a_question_for_ideas(tmp_path: Path, run: Run) -> None:
    give(tmp_path, put(tmp_path, run, Stage.IDEAS), IDEAS)
    assert listed(tmp_path) == []


def test_an_answer_that_was_given_stays(tmp_path: Path, run: Run) -> None:
    kernel = put(tmp_path, run, Stage.KERNEL)
    give(tmp_path, kernel, CODE)
    assert "has been answered" in give(tmp_path, kernel, CODE.replace("0", "1"), code=2)
    assert FileModel(f"file/{tmp_path}/answers").ask(kernel).text == CODE


def test_the_beginning_of_an_id_will_do_where_it_names_one_question(tmp_path: Path, run: Run) -> None:
    requests = [put(tmp_path, run, Stage.KERNEL, str(number)) for number in range(17)]
    (tmp_path / "reply.md").write_text(CODE)
    initials = [request.id[0] for request in requests]
    shared = next(initial for initial in initials if initials.count(initial) > 1)
    assert "more than one question" in typed(tmp_path, "answer", shared, "reply.md", code=2)
    assert "No question has an id" in typed(tmp_path, "answer", "nothing", "reply.md", code=2)
    typed(tmp_path, "answer", requests[0].id[:11], "reply.md")
