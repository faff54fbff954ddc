"""Kernels that were written from older and from newer prompts: what is kept of them, and the table."""

from __future__ import annotations

import pytest

from benchmarks import hopper
from benchmarks.hopper import Asked, Found
from treesearch import answers, languages, problem
from treesearch.evaluation.build import Built
from treesearch.records import Build, Evaluation, Protocol, Status


@pytest.fixture(scope="module")
def asked() -> Asked:
    return hopper.read()


def test_every_answer_holds_a_kernel_of_its_own(asked: Asked) -> None:
    assert problem.find(asked.problem).is_file()
    texts = [text for written in asked.written for text in written.answers]
    sources = [answers.code(text, languages.CUDA.fences, languages.CUDA.entry) for text in texts]
    assert None not in sources
    assert len(set(sources)) == len(texts) == 10
    assert all("wgmma" in (source or "") for source in sources)


def test_a_row_counts_what_was_built_and_what_was_right(asked: Asked) -> None:
    written = asked.written[0]
    log = Build("nvcc", 1.0, False, "")
    failed = Evaluation(Status.WRONG, "h100", Protocol(0.01), "row 3 |\n is off")
    found = Found(written, (Built(None, log, "no"), None), (failed,))
    assert hopper.table([found]).splitlines()[2] == (
        f"| {written.prompts} | {written.characters:,} | 1 of 2 | 0 | 0 | – | wrong: row 3 ∣ is off |"
    )
    unjudged = hopper.table([Found(written, (), ())])
    assert "not judged here" in unjudged
