"""What a prompt gives up where all of it is too long, and what it never does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from tests.test_prompts_cuda import (
    BREAKING,
    CLUSTER,
    DEVICE,
    LINEAGE,
    PROBLEM,
    REFERENCE,
    SOURCE,
    STEP,
    failed,
)
from treesearch import prompts
from treesearch.languages import CUDA
from treesearch.prompts import Inspiration
from treesearch.prompts.extent import FEW_TRIED, FULL, LEAST, NARROWER, NO_BANK, NO_HISTORY, NO_PAGES
from treesearch.records import Status

ABOUT = PROBLEM, CUDA, DEVICE
OTHER = Inspiration("gelu", STEP, "a kernel of another problem", ("gelu",))
LOG = "\n".join(f"kernel.cu({number}): error: name {number} is not declared" for number in range(100))
UNBUILT = failed(BREAKING.kernel, Status.BUILD_FAILED, LOG)

Render = Callable[..., str]
IDEAS: Render = partial(prompts.ideas, *ABOUT, STEP, LINEAGE, 4, bank=[OTHER])
FIRST: Render = partial(prompts.kernel, *ABOUT, parent=None, idea=None, variant=1, variants=2, bank=[OTHER])
KERNEL: Render = partial(prompts.kernel, *ABOUT, parent=STEP, idea=CLUSTER, variant=1, variants=2, bank=[OTHER])
REPAIR: Render = partial(prompts.repair, *ABOUT, UNBUILT, CLUSTER)
QUESTIONS = pytest.mark.parametrize(
    "render", [IDEAS, FIRST, KERNEL, REPAIR], ids=["ideas", "first", "kernel", "repair"]
)

PAGES = "## Hopper"
TRIED = "## Ideas already tried"
WAY = "How it came about"
"""Beginnings of what may be left out."""


def left_out(prompt: str) -> list[str]:
    """What a prompt says that it goes without."""
    _, _, after = prompt.partition("## What is left out\n")
    return [line[2:] for line in after.partition("\n## ")[0].splitlines() if line.startswith("- ")]


@QUESTIONS
def test_a_whole_prompt_says_nothing_of_what_is_left_out(render: Render) -> None:
    assert render(extent=FULL) == render()
    assert "## What is left out" not in render()


@QUESTIONS
def test_what_an_answer_needs_is_in_every_form(render: Render) -> None:
    needed = [REFERENCE.strip(), "## The contract", "## The machine", "## Your task"]
    needed += [] if render is FIRST else [SOURCE.strip()]
    needed += [CLUSTER.mechanism] if render in (KERNEL, REPAIR) else []
    needed += ["### Format"] if render is IDEAS else ["## Your answer"]
    for prompt in (render(), *prompts.shorter(render)):
        assert [part for part in needed if part not in prompt] == []


@QUESTIONS
def test_each_form_is_shorter_than_the_one_before_and_says_what_it_goes_without(render: Render) -> None:
    forms = [render(), *prompts.shorter(render)]
    assert len(forms) > 1
    assert [len(form) for form in forms] == sorted({len(form) for form in forms}, reverse=True)
    told = [left_out(form) for form in forms]
    assert [len(one) for one in told] == sorted({len(one) for one in told})
    assert told[-1] == left_out(render(extent=LEAST))


def test_what_an_answer_misses_least_is_given_up_first() -> None:
    held = {
        extent: [part for part in (TRIED, OTHER.source, WAY, PAGES) if part in IDEAS(extent=extent)]
        for extent in NARROWER
    }
    assert held == {
        FEW_TRIED: [TRIED, OTHER.source, WAY, PAGES],
        NO_BANK: [TRIED, WAY, PAGES],
        NO_HISTORY: [PAGES],
        NO_PAGES: [],
        LEAST: [],
    }


def test_what_is_left_out_is_named_and_counted() -> None:
    assert left_out(IDEAS(extent=NO_PAGES)) == [
        f"{len(LINEAGE.outcomes(STEP.kernel.id)) + 1} of the ideas that were tried, and what came of them",
        "2 of the steps that led to this kernel",
        "1 verified kernel of other problems",
        "the pages on this GPU's own instructions, and code that shows how to use them",
    ]


def test_only_what_there_was_is_called_left_out() -> None:
    older = replace(DEVICE, architecture="sm_80")
    assert (
        left_out(prompts.kernel(PROBLEM, CUDA, older, parent=STEP, idea=CLUSTER, variant=0, variants=1, extent=LEAST))
        == []
    )
    assert left_out(FIRST(extent=LEAST)) == left_out(FIRST(extent=NO_PAGES)), "no bank is offered to first kernels"


def test_of_a_long_log_the_middle_goes() -> None:
    prompt = REPAIR(extent=LEAST)
    first, last = (f"error: name {number} is not declared" for number in (0, 99))
    assert first in prompt
    assert last in prompt
    assert "characters left out …]" in prompt
    assert "error: name 50 is" not in prompt
    assert left_out(prompt)[-1] == "the middle of what was seen of the kernel above"


def test_forms_are_made_one_by_one() -> None:
    """An endpoint that takes the whole prompt costs no other."""
    made = []

    def render(**extent: object) -> str:
        made.append(extent)
        return IDEAS(**extent)

    forms = prompts.shorter(render)
    assert made == []
    next(forms)
    assert len(made) < 1 + len(NARROWER)
