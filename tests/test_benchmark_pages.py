"""The large archive that pages are timed on: what it holds, and that it is the same each time."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks import large, pages
from treesearch.archive import Archive
from treesearch.errors import UsageError
from treesearch.lineage import standing
from treesearch.records import Purpose, Relation, RunState, Status

RUNS, KERNELS, LARGEST = 8, 600, 320


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "archive.db"
    pages.prepare(path, RUNS, KERNELS, LARGEST)
    return path


def rows(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [line for line in connection.iterdump() if line.startswith("INSERT")]


def test_it_has_as_many_runs_and_kernels_as_were_asked_for(made: Path) -> None:
    with Archive(made, read_only=True) as archive:
        found = [len(archive.entries(run.id)) for run in archive.runs()]
    assert sorted(found) == sorted(large.sizes(RUNS, KERNELS, LARGEST)) == [40] * 7 + [320]


def test_its_runs_are_as_searches_leave_them(made: Path) -> None:
    with Archive(made, read_only=True) as archive:
        newest, *_, oldest = archive.runs()
        lineage = archive.lineage(oldest.id)
        exchanges = archive.answers(oldest.id)
        proposals = archive.proposals(oldest.id)
        measured = archive.remeasurements([entry.kernel.id for entry in lineage.entries])
        waiting = [entry for entry in archive.entries(newest.id) if not entry.evaluation]
    statuses = Counter(entry.evaluation.status for entry in lineage.entries if entry.evaluation)
    assert set(statuses) == set(Status)
    assert {entry.kernel.round for entry in lineage.entries} == set(range(6))
    assert {edge["relation"] for *_, edge in lineage.graph.edges(data=True)} == set(Relation)
    assert {entry.kernel.answer for entry in lineage.entries} < {request.id for request, _ in exchanges}
    assert any(proposal.dropped for proposal in proposals)
    assert any(standing(entry) for entry in lineage.entries)
    assert {one.purpose for one in measured} == {Purpose.FINAL}
    assert (newest.state, oldest.state) == (RunState.RUNNING, RunState.DONE)
    assert waiting


def test_the_same_numbers_make_the_same_archive(made: Path, tmp_path: Path) -> None:
    large.prepare(tmp_path / "again.db", RUNS, KERNELS, LARGEST)
    assert rows(tmp_path / "again.db") == rows(made)


def test_a_file_that_is_there_is_left_alone(made: Path) -> None:
    before = made.stat()
    with pytest.raises(UsageError, match="is there already"):
        pages.prepare(made, 1, 10, 10)
    assert made.stat().st_mtime_ns == before.st_mtime_ns


def test_the_largest_run_and_its_fastest_kernel_are_looked_at(made: Path) -> None:
    subject = pages.chosen(made)
    with Archive(made, read_only=True) as archive:
        lineage, other = archive.lineage(subject.run), archive.run(subject.other)
        assert (other.problem, other.device) == (archive.run(subject.run).problem, archive.run(subject.run).device)
    fastest = lineage.fastest()
    assert fastest
    assert (subject.kernels, subject.kernel) == (LARGEST, fastest.kernel.id)


@pytest.mark.browser
def test_a_server_of_its_own_is_timed(made: Path) -> None:
    subject = pages.chosen(made)
    with pages.serving(made) as served:
        found = [*pages.pages(subject, served), *pages.in_browser(subject, served)]
        assert served.most_bytes > 10_000_000
    assert [what.partition(",")[0] for what, *_ in found[:4]] == [
        "first page",
        "run page",
        "kernel page",
        "compare page",
    ]
    assert all(" ms" in took for _, took, _ in found)


def test_an_archive_without_two_runs_to_compare_is_refused(tmp_path: Path) -> None:
    large.prepare(tmp_path / "one.db", 1, 20, 20)
    with pytest.raises(UsageError, match="has no two runs to compare"):
        pages.chosen(tmp_path / "one.db")
