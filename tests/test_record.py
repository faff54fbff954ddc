"""The shipped record: complete searches, made by real answers, on the problems as they are."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from treesearch import resources
from treesearch.archive import Archive
from treesearch.archive.migrate import REVISIONS
from treesearch.evaluation.build import build
from treesearch.languages import CUDA, LANGUAGES
from treesearch.problem import shipped
from treesearch.records import Problem, Purpose, Run, RunState, Stage, digest
from treesearch.roofline import floor

FLAGSHIP = ("matmul_fp32", "conv2d", "softmax", "layernorm", "conv2d_relu_maxpool")
"""The problems of the published experiment, which were searched on an H100."""
RECORDED = (("bias_silu_clamp", "cpp"), ("softmax_small", "cpp"), *((name, "cuda") for name in FLAGSHIP))
"""Problems that were searched, each with the language."""
BESIDE_A_COPY = {"softmax": 0.97}
"""Share of the floor's time below which a winner's would be too good. A floor is as fast as memory copies, which this
one's reads and writes are a little faster than."""
LARGEST_BYTES = 20_000_000
MOST_BUILDS = 64
"""CUDA kernels that are built again, winners first: what two cores can build in about a minute."""


@pytest.fixture(scope="module")
def record() -> Iterator[Archive]:
    with Archive(resources.record(), read_only=True) as archive:
        yield archive


def run_of(record: Archive, name: str, language: str) -> Run:
    return next(run for run in record.runs() if (run.problem_name, run.config.language) == (name, language))


def cuda_kernels(record: Archive) -> list[tuple[Problem, str, str]]:
    """Problem, source and architecture of every verified CUDA kernel, each text once: winners, then by digest."""
    found: dict[str, tuple[Problem, str, str]] = {}
    winners = set[str]()
    for run in record.runs():
        if run.config.language == CUDA.name:
            problem, architecture = record.problem(run.problem), record.device(run.device).architecture
            verified = [entry.kernel for entry in record.entries(run.id) if entry.verified]
            found |= {kernel.digest: (problem, kernel.source or "", architecture) for kernel in verified}
            fastest = record.lineage(run.id).fastest()
            winners |= {fastest.kernel.digest} if fastest else set()
    return [found[key] for key in sorted(found, key=lambda key: (key not in winners, key))]


@pytest.mark.parametrize(("name", "language"), RECORDED)
def test_a_recorded_search_is_complete(record: Archive, name: str, language: str) -> None:
    run = run_of(record, name, language)
    assert LANGUAGES[language].runs_on(record.device(run.device).kind)
    assert run.state is RunState.DONE
    assert run.config.rounds >= 3
    entries = record.entries(run.id)
    assert all(entry.evaluation for entry in entries)
    assert {entry.kernel.round for entry in entries} == set(range(run.config.rounds + 1))
    proposals = [proposal for proposal in record.proposals(run.id) if not proposal.dropped]
    tried = {entry.kernel.proposal.id for entry in entries if entry.kernel.proposal}
    assert {proposal.id for proposal in proposals} == tried


@pytest.mark.parametrize(("name", "language"), RECORDED)
def test_a_recorded_winner_beats_both_baselines(record: Archive, name: str, language: str) -> None:
    run = run_of(record, name, language)
    winner = record.lineage(run.id).fastest()
    assert winner is not None
    assert winner.evaluation is not None
    measured = winner.evaluation.measurement
    assert measured is not None
    assert measured.compile_speedup is not None
    assert measured.eager_speedup.low > 1
    assert measured.compile_speedup.low > 1


@pytest.mark.parametrize("name", FLAGSHIP)
def test_the_flagship_was_timed_on_a_measured_h100(record: Archive, name: str) -> None:
    run = run_of(record, name, "cuda")
    device = record.device(run.device)
    assert "H100" in device.name
    assert device.architecture == "sm_90a"
    bound = floor(record.problem(run.problem), device)
    assert bound is not None, "without a floor nobody can say how good the winner is"
    winner = record.lineage(run.id).fastest()
    assert winner is not None
    assert winner.milliseconds is not None
    assert winner.milliseconds > BESIDE_A_COPY.get(name, 1.0) * bound.milliseconds


def test_the_flagships_winners_were_measured_after_they_had_won(record: Archive) -> None:
    for name in FLAGSHIP:
        run = run_of(record, name, "cuda")
        assert run.config.rounds >= 5
        assert len([entry for entry in record.entries(run.id) if entry.evaluation]) >= 40
        winner = record.lineage(run.id).fastest()
        assert winner is not None
        finals = [again for again in record.remeasurements([winner.kernel.id]) if again.purpose is Purpose.FINAL]
        assert finals
        measured = finals[-1].evaluation.measurement
        assert measured is not None
        assert measured.configurations


@pytest.mark.skipif(CUDA.compiler() is None, reason="nvcc is absent")
def test_nvcc_builds_the_verified_cuda_kernels_of_the_record(
    record: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = cuda_kernels(record)[:MOST_BUILDS]
    assert kernels
    monkeypatch.setenv("TREESEARCH_CACHE", str(tmp_path))  # built now, not when somebody last ran this
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        built = list(pool.map(lambda kernel: build(kernel[0], CUDA, kernel[1], kernel[2]), kernels))
    assert [one.error for one in built if one.library is None] == []
    assert all(CUDA.resources(one.record.log) for one in built), "nvcc says what each kernel takes"


def test_the_record_is_about_the_problems_that_ship(record: Archive) -> None:
    """A replay finds answers by the problem's text, so an edited problem would lose its record."""
    digests = {problem.name: digest(problem.path.read_text()) for problem in shipped()}
    for run in record.runs():
        assert run.problem == digests[run.problem_name], f"{run.problem_name} changed since it was searched"


def test_every_answer_says_who_gave_it(record: Archive) -> None:
    """And, of a kernel's, what help its author had; ideas may be had without."""
    for run in record.runs():
        for request, answer in record.answers(run.id):
            assert answer.model.startswith("file/")
            assert answer.answered_by
            assert answer.help or request.stage is Stage.IDEAS


def test_the_record_is_one_small_file_without_a_log(record: Archive) -> None:
    path = resources.record()
    assert path.stat().st_size < LARGEST_BYTES
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_the_record_has_the_tables_of_today() -> None:
    """Else every command that reads it upgrades a copy in memory first, which takes a second."""
    with closing(sqlite3.connect(f"file:{resources.record()}?mode=ro&immutable=1", uri=True)) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == (REVISIONS[-1],)


def test_the_record_names_no_path_of_the_machine_it_was_made_on() -> None:
    content = resources.record().read_bytes()
    assert re.search(rb"/(home|root|tmp|Users)/", content) is None
    assert str(resources.record().parent).encode() not in content
