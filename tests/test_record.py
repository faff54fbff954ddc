"""The shipped record: complete searches, made by real answers, on the problems as they are."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from treesearch import resources
from treesearch.archive import Archive
from treesearch.lineage import Lineage
from treesearch.problem import shipped
from treesearch.records import Run, RunState, digest

RECORDED = ("bias_silu_clamp", "softmax_small")
LARGEST_BYTES = 10_000_000


@pytest.fixture(scope="module")
def record() -> Iterator[Archive]:
    with Archive(resources.record(), read_only=True) as archive:
        yield archive


def run_of(record: Archive, name: str) -> Run:
    return next(run for run in record.runs() if run.problem_name == name)


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_search_is_complete(record: Archive, name: str) -> None:
    run = run_of(record, name)
    assert run.state is RunState.DONE
    assert run.config.rounds >= 3
    entries = record.entries(run.id)
    assert all(entry.evaluation for entry in entries)
    assert {entry.kernel.round for entry in entries} == set(range(run.config.rounds + 1))
    proposals = [proposal for proposal in record.proposals(run.id) if not proposal.dropped]
    tried = {entry.kernel.proposal.id for entry in entries if entry.kernel.proposal}
    assert {proposal.id for proposal in proposals} == tried


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_winner_beats_both_baselines(record: Archive, name: str) -> None:
    run = run_of(record, name)
    winner = Lineage(record.entries(run.id), record.edges(run.id)).fastest()
    assert winner is not None
    assert winner.evaluation is not None
    measured = winner.evaluation.measurement
    assert measured is not None
    assert measured.compile_speedup is not None
    assert measured.eager_speedup.low > 1
    assert measured.compile_speedup.low > 1


def test_the_record_is_about_the_problems_that_ship(record: Archive) -> None:
    """A replay finds answers by the problem's text, so an edited problem would lose its record."""
    digests = {problem.name: digest(problem.path.read_text()) for problem in shipped()}
    for run in record.runs():
        assert run.problem == digests[run.problem_name], f"{run.problem_name} changed since it was searched"


def test_every_answer_says_who_gave_it(record: Archive) -> None:
    for run in record.runs():
        for _, answer in record.answers(run.id):
            assert answer.model.startswith("file/")
            assert answer.answered_by
            assert answer.help


def test_the_record_is_one_small_file_without_a_log(record: Archive) -> None:
    path = resources.record()
    assert path.stat().st_size < LARGEST_BYTES
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_the_record_names_no_path_of_the_machine_it_was_made_on() -> None:
    content = resources.record().read_bytes()
    assert re.search(rb"/(home|root|tmp|Users)/", content) is None
    assert str(resources.record().parent).encode() not in content
