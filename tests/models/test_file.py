"""`file/DIR`: questions and answers as files."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from treesearch.errors import MachineError, Waiting
from treesearch.models import FileModel, ModelOptions
from treesearch.records import Request, Stage, Usage

REQUEST = Request("run", 0, Stage.IDEAS, "problem", "", "0", "Propose ideas for größe ≤ 4.\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "answers"


@pytest.fixture
def model(folder: Path) -> FileModel:
    return FileModel(f"file/{folder}")


def answer(folder: Path, content: bytes, request: Request = REQUEST) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{request.id}.answer.md").write_bytes(content)


def test_a_question_appears_as_a_file_and_its_answer_is_waited_for(model: FileModel, folder: Path) -> None:
    with pytest.raises(Waiting) as raised:
        model.ask(REQUEST)
    assert (folder / f"{REQUEST.id}.prompt.md").read_text(encoding="utf-8") == REQUEST.prompt
    assert raised.value.pending == (str(folder / f"{REQUEST.id}.answer.md"),)
    assert raised.value.exit_code == 75


def test_an_answer_is_given_exactly_with_nothing_known_about_its_cost(model: FileModel, folder: Path) -> None:
    answer(folder, b"  first line\r\nsecond\n\n")
    given = model.ask(REQUEST)
    assert given.text == "  first line\r\nsecond\n\n"
    assert (given.model, given.answered_by, given.help) == (f"file/{folder}", "", "")
    assert (given.usage, given.seconds) == (Usage(), None)


@pytest.mark.parametrize("content", [b"", b" \n\t\n", b"---\nmodel: m\n---\n"])
def test_an_answer_without_text_is_still_due(model: FileModel, folder: Path, content: bytes) -> None:
    answer(folder, content)
    with pytest.raises(Waiting):
        model.ask(REQUEST)


def test_a_question_asked_again_is_not_written_again(model: FileModel, folder: Path) -> None:
    paths = [folder / f"{REQUEST.id}.prompt.md", folder / "README.md"]
    for _ in range(2):
        with pytest.raises(Waiting):
            model.ask(REQUEST)
        times = [path.stat().st_mtime_ns for path in paths]
        for path in paths:
            os.utime(path, ns=(1, 1))
    assert times == [1, 1]


def test_a_question_that_changed_replaces_the_old_one(model: FileModel, folder: Path) -> None:
    for request in (REQUEST, replace(REQUEST, prompt="Another wording.")):
        with pytest.raises(Waiting):
            model.ask(request)
    assert (folder / f"{REQUEST.id}.prompt.md").read_text() == "Another wording."


def test_the_folder_holds_whole_files_only_and_says_what_it_is_for(model: FileModel, folder: Path) -> None:
    with pytest.raises(Waiting):
        model.ask(REQUEST)
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["README.md", f"{REQUEST.id}.prompt.md", f".{REQUEST.id}.json"]
    )
    readme = (folder / "README.md").read_text()
    assert ".answer.md" in readme
    assert "rename" in readme


def test_a_readme_of_the_user_is_left_alone(model: FileModel, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("mine")
    model.check()
    assert (folder / "README.md").read_text() == "mine"


# ── what an answer says of itself ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_front_matter_names_who_answered_with_what_help(
    model: FileModel, folder: Path, newline: str, mark: str
) -> None:
    lines = ["---", "model: some-model 2", "help: g++, objdump", "---", "the text", ""]
    answer(folder, (mark + newline.join(lines)).encode())
    given = model.ask(REQUEST)
    assert (given.answered_by, given.help) == ("some-model 2", "g++, objdump")
    assert given.text == f"the text{newline}"


def test_front_matter_may_hold_one_key_only(model: FileModel, folder: Path) -> None:
    answer(folder, b"---\nhelp: nvcc\n---\ntext")
    given = model.ask(REQUEST)
    assert (given.answered_by, given.help, given.text) == ("", "nvcc", "text")


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: Ideas\nmodel: m\n---\ntext",
        "---\n---\ntext",
        "text\n---\nmodel: m\n---\n",
        "\n---\nmodel: m\n---\ntext",
        "---\nmodel: m\ntext without an end",
        "---\nIdea one\n---\ntext",
    ],
)
def test_what_is_not_our_front_matter_is_part_of_the_answer(model: FileModel, folder: Path, text: str) -> None:
    answer(folder, text.encode())
    given = model.ask(REQUEST)
    assert (given.text, given.answered_by) == (text, "")


def test_an_answer_that_is_not_utf8_is_read_all_the_same(model: FileModel, folder: Path) -> None:
    answer(folder, b"caf\xe9")
    assert model.ask(REQUEST).text == "caf\N{REPLACEMENT CHARACTER}"


# ── waiting ─────────────────────────────────────────────────────────────────────────────────────


def test_with_wait_the_question_blocks_until_its_answer_appears(folder: Path) -> None:
    model = FileModel(f"file/{folder}", options=ModelOptions(wait=True, poll_seconds=0.01))
    timer = threading.Timer(0.2, answer, (folder, b"in the end"))
    timer.start()
    assert model.ask(REQUEST).text == "in the end"
    timer.join()


def test_questions_may_be_asked_at_once(model: FileModel, folder: Path) -> None:
    requests = [replace(REQUEST, ordinal=str(n % 3), prompt=f"prompt {n % 3}") for n in range(12)]
    pending: list[str] = []

    def ask(request: Request) -> None:
        try:
            model.ask(request)
        except Waiting as waiting:
            pending.extend(waiting.pending)

    threads = [threading.Thread(target=ask, args=(request,)) for request in requests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pending) == 12
    assert len(list(folder.iterdir())) == 7, "three questions with their notes, and what the folder is for"


# ── a machine that does not play along ──────────────────────────────────────────────────────────


def test_a_folder_that_cannot_be_made_is_the_machines_fault(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    model = FileModel(f"file/{tmp_path}/taken/answers")
    for question in (model.check, lambda: model.ask(REQUEST)):
        with pytest.raises(MachineError, match=r"cannot create .*taken.*: a file is where a folder should be"):
            question()


def test_a_question_that_cannot_be_written_is_the_machines_fault(model: FileModel, folder: Path) -> None:
    (folder / f"{REQUEST.id}.prompt.md").mkdir(parents=True)
    with pytest.raises(MachineError, match=r"cannot write .*prompt\.md"):
        model.ask(REQUEST)
    assert not list(folder.glob(".*"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_the_machines_fault(model: FileModel, folder: Path) -> None:
    folder.mkdir(parents=True)
    draft = folder / f".{REQUEST.id}.prompt.md.{os.getpid()}.{threading.get_ident()}"
    draft.symlink_to("/dev/full")
    with pytest.raises(MachineError, match="No space left"):
        model.ask(REQUEST)


def test_an_answer_that_cannot_be_read_is_the_machines_fault(model: FileModel, folder: Path) -> None:
    (folder / f"{REQUEST.id}.answer.md").mkdir(parents=True)
    with pytest.raises(MachineError, match=r"cannot read .*answer\.md"):
        model.ask(REQUEST)
