"""Prompts that say the same are kept once, and every prompt reads as it was put."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import delete, null, select, update

from tests.archive.older import before_passages
from tests.archive.test_thrift import noted
from treesearch.archive import Archive, passages, texts
from treesearch.archive import schema as s
from treesearch.errors import ArchiveError
from treesearch.records import Request, Run

if TYPE_CHECKING:
    from tests.archive.conftest import Samples

CONTRACT = "# Task\nMake it fast.\n\n## Contract\nOne function.\n```c\nint launch();\n```\n"
LONG = "".join(f"### Page {number}\n{'Says much of an instruction. ' * 99}\n" for number in range(3))

PROMPTS = {
    "empty": "",
    "one line": "Make it fast.",
    "a prompt": CONTRACT + LONG + "## Now\nDo it.",
    "only a line's end": "\n",
    "headings alone": "#\n# \n## \n### \n#### \n#######\n",
    "fences alone": "```\n```\n\n```````\n```",
    "other ends of lines": "a\r\n# b\r# c\u2028# d\n\n\n# e",
    "deep in a line": " # a\n # b\n\t```\n#c\n",
    "the same twice": CONTRACT * 3,
    "what marks a packed text": f"{texts.PACKED}17:and no more\n# {texts.PACKED}\n```{texts.PACKED}",
    "a passage that looks packed": f"a\n# b\n{texts.PACKED}eJwDAAAAAAE=",
    "what looks like a list of passages": json.dumps(passages.digests(CONTRACT)),
    "control characters": "\1\2\n# \x1b[31m\x7f\x85\n```\b\n",
    "beyond a plane": "é🙂\n# 🙂é\n" * 999,
    "more than a query names": "".join(f"# {number}\n" for number in range(2 * passages.NAMED + 3)),
}


@pytest.fixture
def run(archive: Archive, samples: Samples) -> Run:
    return samples.open(archive)


def ask(archive: Archive, samples: Samples, run: Run, *prompts: str) -> list[Request]:
    """Store answers to these prompts, and return what was asked."""
    asked = [replace(samples.request(run, ordinal=str(place)), prompt=one) for place, one in enumerate(prompts)]
    for request in asked:
        archive.save_answer(request, samples.answer())
    return asked


def asked(archive: Archive, run: Run) -> list[str]:
    return [request.prompt for request, _ in archive.answers(run.id)]


def kept(archive: Archive) -> dict[str, str]:
    with archive._reading() as session:
        return {row.digest: row.text for row in session.scalars(select(s.PassageRow))}


def keep_whole(archive: Archive, prompts: Sequence[str]) -> None:
    """Have answers hold their prompts as older versions stored them."""
    with archive._writing() as session:
        for place, prompt in enumerate(prompts):
            row = update(s.AnswerRow).where(s.AnswerRow.ordinal == str(place))
            session.execute(row.values(prompt=prompt, passages=null()))
        session.execute(delete(s.PassageRow))


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS)
def test_a_prompt_reads_as_it_was_put(archive: Archive, samples: Samples, run: Run, prompt: str) -> None:
    (request,) = ask(archive, samples, run, prompt)
    for found in (
        archive.exchange(request.id),
        archive.exchanges([request.id])[request.id],
        *archive.answers(run.id),
        *archive.answers_for(run.problem),
    ):
        assert found is not None
        assert found[0] == request


def test_prompts_that_are_read_together_are_not_mixed_up(archive: Archive, samples: Samples, run: Run) -> None:
    requests = ask(archive, samples, run, *PROMPTS.values())
    assert [request for request, _ in archive.answers(run.id)] == requests
    found = archive.exchanges([request.id for request in requests])
    assert [found[request.id][0] for request in requests] == requests


def test_what_cannot_be_stored_is_replaced_as_in_any_text(archive: Archive, samples: Samples, run: Run) -> None:
    ask(archive, samples, run, "a\0\n# \ud800b\n```\udfff", "a\ufffd\n# \ufffdb\n```\ufffd")
    assert asked(archive, run) == ["a\ufffd\n# \ufffdb\n```\ufffd"] * 2
    assert len(kept(archive)) == 3


def test_what_prompts_have_in_common_is_kept_once(archive: Archive, samples: Samples, run: Run) -> None:
    ask(archive, samples, run, *(f"{CONTRACT}{LONG}## Now\nTry idea {number}." for number in range(5)))
    found = sorted(kept(archive).values())
    assert found == sorted(
        ["# Task\nMake it fast.\n\n", "## Contract\nOne function.\n", "```c\nint launch();\n", "```\n"]
        + LONG.replace("###", "|###").split("|")[1:]
        + [f"## Now\nTry idea {number}." for number in range(5)]
    )


def test_a_question_with_an_answer_leaves_nothing_of_another_prompt(
    archive: Archive, samples: Samples, run: Run
) -> None:
    ask(archive, samples, run, "First.")
    ask(archive, samples, run, "Second.")
    assert list(kept(archive).values()) == ["First."]
    assert asked(archive, run) == ["First."]


def test_many_prompts_are_read_with_one_query_for_their_passages(archive: Archive, samples: Samples, run: Run) -> None:
    requests = ask(archive, samples, run, *(f"{CONTRACT}# {number}" for number in range(20)))
    with noted(archive, "before_cursor_execute") as executed:
        archive.exchanges([request.id for request in requests])
        archive.answers(run.id)
        queries = [str(statement) for _, _, statement, *_ in executed]
    assert len([one for one in queries if "FROM passages" in one]) == 2


def test_overviews_read_no_passage(archive: Archive, samples: Samples, run: Run) -> None:
    ask(archive, samples, run, CONTRACT)
    with noted(archive, "before_cursor_execute") as executed:
        assert [request.prompt for request, _ in archive.answered(run.id)] == [""]
        assert not [one for _, _, one, *_ in executed if "passages" in str(one)]


def test_no_two_writers_of_the_same_passages_wait_for_each_other(archive: Archive, samples: Samples, run: Run) -> None:
    parts = [f"# Part {number}\n" for number in range(300)]
    together = threading.Barrier(8)

    def work(number: int) -> str:
        order = Random(number).sample(parts, len(parts))
        request = replace(samples.request(run, ordinal=str(number)), prompt="".join(order))
        together.wait()
        archive.save_answer(request, samples.answer())
        return request.prompt

    with ThreadPoolExecutor(8) as pool:
        prompts = list(pool.map(work, range(8)))
    assert asked(archive, run) == prompts
    assert sorted(kept(archive).values()) == sorted(parts)


def test_a_missing_passage_is_told(archive: Archive, samples: Samples, run: Run) -> None:
    (request,) = ask(archive, samples, run, CONTRACT)
    with archive._writing() as session:
        session.execute(delete(s.PassageRow).where(s.PassageRow.text == "```\n"))
    with pytest.raises(ArchiveError, match="lacks passages"):
        archive.exchange(request.id)
    assert archive.answer(request.id) is not None


# ── what older versions stored ──────────────────────────────────────────────────────────────────


def test_prompts_that_are_kept_whole_are_read(archive: Archive, samples: Samples, run: Run) -> None:
    prompts = list(PROMPTS.values())
    ask(archive, samples, run, *prompts)
    keep_whole(archive, prompts)
    assert asked(archive, run) == prompts
    (request,) = ask(archive, samples, samples.open(archive, new=True), CONTRACT)
    found = archive.exchange(request.id)
    assert found is not None
    assert found[0] == request


def test_an_archive_from_before_passages_is_upgraded_when_it_is_opened(tmp_path: Path, samples: Samples) -> None:
    path = tmp_path / "archive.db"
    with Archive(path) as archive:
        run = samples.open(archive)
        ask(archive, samples, run, CONTRACT, "Short.")
        answers = archive.answers(run.id)
        archive.seal()
    with closing(sqlite3.connect(path)) as older, older:
        before_passages(older)
        older.execute("UPDATE alembic_version SET version_num = '0011'")
    before = path.read_bytes()
    with Archive(path, read_only=True) as archive:
        assert archive.answers(run.id) == answers
    assert path.read_bytes() == before
    with Archive(path) as archive:
        assert archive.answers(run.id) == answers
        assert kept(archive) == {}
        another = samples.open(archive, new=True)
        ask(archive, samples, another, CONTRACT)
        assert asked(archive, another) == [CONTRACT]


# ── between archives ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("whole", [False, True])
def test_a_merged_run_brings_its_passages(archive: Archive, samples: Samples, tmp_path: Path, whole: bool) -> None:
    prompts = list(PROMPTS.values())
    with Archive(tmp_path / "source.db") as source:
        run = samples.open(source)
        ask(source, samples, run, *prompts)
        ask(source, samples, samples.open(source, new=True), "Of another run.")
        wanted = kept(source)
        if whole:
            keep_whole(source, prompts)
        for _ in range(2):
            archive.merge(source, run.id)
            assert archive.answers(run.id) == source.answers(run.id)
            assert asked(archive, run) == prompts
    assert kept(archive) == {one: text for one, text in wanted.items() if text != "Of another run."}


def test_a_merged_run_shares_the_passages_that_are_there(archive: Archive, samples: Samples, tmp_path: Path) -> None:
    archive_run = samples.open(archive)
    ask(archive, samples, archive_run, f"{CONTRACT}# Mine")
    with Archive(tmp_path / "target.db") as target:
        samples.open(target)
        theirs = samples.open(target, new=True)
        ask(target, samples, theirs, f"{CONTRACT}# Theirs")
        archive.merge(target, theirs.id)
    assert asked(archive, archive_run) == [f"{CONTRACT}# Mine"]
    assert asked(archive, theirs) == [f"{CONTRACT}# Theirs"]
    assert sorted(kept(archive).values())[-2:] == ["```\n", "```c\nint launch();\n"]
    assert len(kept(archive)) == 6
