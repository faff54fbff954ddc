"""Kernels of other problems that are offered as inspiration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.problem.test_operators import model
from tests.test_prompts import DEVICE, PROBLEM, verified
from treesearch.archive import Archive
from treesearch.errors import UsageError
from treesearch.languages import CPP
from treesearch.records import Config, Kernel, Problem
from treesearch.steps.bank import LONGEST, OFFERED, inspirations

SUBJECT = replace(PROBLEM, name="subject", source=model("F.conv3d(torch.fft.fft(x), y)"))
ALIKE = replace(PROBLEM, name="alike", source=model("F.conv3d(x, y)"))
LESS_ALIKE = replace(PROBLEM, name="less_alike", source=model("torch.tan(F.conv3d(x, y)).round()"))
UNLIKE = replace(PROBLEM, name="unlike", source=model("torch.erfinv(x)"))


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "archive.db") as opened:
        yield opened


def hold(archive: Archive, problem: Problem, *sources: str, language: str = "cpp") -> list[str]:
    """Store a run with verified kernels, each a millisecond slower than the one before; returns their ids."""
    run = archive.open_run(problem, Config(("scripted",), language=language), DEVICE)
    kernels = [Kernel(run.id, 0, f"0.{place}", language, source, "") for place, source in enumerate(sources)]
    for place, kernel in enumerate(kernels):
        archive.save_kernel(kernel)
        evaluation = verified(kernel, 1.0 + place).evaluation
        assert evaluation is not None
        archive.save_evaluation(kernel.id, replace(evaluation, device=DEVICE.id))
    return [kernel.id for kernel in kernels]


def offered(archive: Archive, *asked: str) -> list[tuple[str, str, bool]]:
    found = inspirations(archive, SUBJECT, CPP, asked)
    return [(one.problem, one.source, one.asked) for one in found]


def test_the_fastest_kernels_of_the_likest_problems_are_offered(archive: Archive) -> None:
    hold(archive, UNLIKE, "another operator")
    hold(archive, LESS_ALIKE, "less alike")
    hold(archive, ALIKE, "fastest", "slower")
    hold(archive, SUBJECT, "what this search is about")
    assert offered(archive) == [("alike", "fastest", False), ("less_alike", "less alike", False)]
    assert [one.shared for one in inspirations(archive, SUBJECT, CPP)] == [("conv3d",), ("conv3d",)]


def test_few_are_offered(archive: Archive) -> None:
    for number in range(OFFERED + 2):
        hold(archive, replace(ALIKE, name=f"alike{number}", source=f"{ALIKE.source}# {number}"), f"source {number}")
    assert [name for name, *_ in offered(archive)] == ["alike0", "alike1"]


def test_sources_that_are_long_or_in_another_language_are_passed_over(archive: Archive) -> None:
    hold(archive, ALIKE, "x" * (LONGEST + 1), "short")
    hold(archive, LESS_ALIKE, "in CUDA", language="cuda")
    assert offered(archive) == [("alike", "short", False)]


def test_a_kernel_that_a_person_names_comes_first_whatever_it_solves(archive: Archive) -> None:
    (named,) = hold(archive, UNLIKE, "another operator")
    hold(archive, ALIKE, "alike")
    assert offered(archive, named[:10]) == [("unlike", "another operator", True), ("alike", "alike", False)]


def test_a_kernel_that_cannot_inspire_is_refused(archive: Archive) -> None:
    (other,) = hold(archive, ALIKE, "in CUDA", language="cuda")
    with pytest.raises(UsageError, match="name a verified kernel in cpp"):
        inspirations(archive, SUBJECT, CPP, [other])
    with pytest.raises(UsageError, match=r"no kernel .* starts with 'nobody'"):
        inspirations(archive, SUBJECT, CPP, ["nobody"])
