"""Models that refuse prompts above a length, as their endpoint says. Kernels are judged by a script, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

import treesearch
from tests.steps import scripted
from tests.test_extent import OTHER, UNBUILT
from tests.test_prompts_cuda import CLUSTER, DEVICE, PROBLEM, STEP
from treesearch import policies, resources
from treesearch.archive import Archive
from treesearch.events import silent
from treesearch.languages import CUDA
from treesearch.models import ApiModel, ModelOptions, Pool
from treesearch.records import Config, Entry, Kernel, Proposal, Request, Stage, Status
from treesearch.steps import attempt
from treesearch.steps.attempt import Slot
from treesearch.steps.task import Judge, Task, failures_kept
from treesearch.testing import TOO_LONG, Failing, HttpReply, ScriptedEndpoint, ScriptedEvaluator

LOG = "\n".join(f"kernel.cpp:{number}:1: error: name {number} is not declared" for number in range(100))
CODE = '```cuda\n#include "problem.h"\nextern "C" int launch(float* out) { return 0; }\n```\n'
MARK = "## What is left out"


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    with scripted.settings():
        yield


# ── one question ────────────────────────────────────────────────────────────────────────────────


class Question:
    """A question for a CUDA kernel: a first one, one for an idea, or a repair."""

    def __init__(self, archive: Archive, slot: str, endpoint: ScriptedEndpoint) -> None:
        options = ModelOptions(api_base=endpoint.base_url)
        model = ApiModel("openai/s", options=options, on_failure=failures_kept(archive, "openai/s", silent))
        self.task = Task(
            run=archive.open_run(PROBLEM, Config(("openai/s",), language="cuda"), DEVICE),
            problem=PROBLEM,
            language=CUDA,
            device=DEVICE,
            models=Pool([model], [model]),
            policy=policies.fastest,
            archive=archive,
            evaluator=cast(Judge, None),  # nothing is judged here
            bank=(OTHER,),
        )
        self.slot = self._slots()[slot]

    def _slots(self) -> dict[str, Slot]:
        parent = replace(STEP, kernel=replace(STEP.kernel, run=self.task.run.id, answer="", proposal=None))
        failed = replace(UNBUILT, kernel=replace(UNBUILT.kernel, run=self.task.run.id, answer="", proposal=None))
        for entry in (parent, failed):
            self.task.archive.save_kernel(entry.kernel)
        proposal = Proposal(self.task.run.id, 2, 0, parent.kernel.id, "", CLUSTER)
        self.task.archive.save_proposals([proposal])
        refining = Slot("0.0", 0, 2, parent, proposal)
        return {
            "first": Slot("0.0", 0, 2),
            "kernel": refining,
            "repair": replace(refining, failed=failed, repair=1),
        }

    def ask(self) -> tuple[Kernel, Request]:
        """The kernel that came of it, and the question as it is stored."""
        slot = self.slot
        kernel = attempt._implement(
            self.task, Kernel(self.task.run.id, 3, slot.ordinal, "cuda", None, "", slot.proposal), slot
        )
        exchange = self.task.archive.exchange(kernel.answer)
        assert exchange is not None
        return kernel, exchange[0]


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "archive.db") as archive:
        yield archive


@pytest.mark.parametrize("slot", ["first", "kernel", "repair"])
def test_a_question_for_a_kernel_that_is_too_long_is_put_again_with_less(archive: Archive, slot: str) -> None:
    with ScriptedEndpoint(lambda prompt: HttpReply(CODE) if MARK in prompt else TOO_LONG) as endpoint:
        question = Question(archive, slot, endpoint)
        kernel, request = question.ask()
        asked = [call.prompt for call in endpoint.calls]
        again, _ = question.ask()
        assert len(endpoint.calls) == len(asked) == 2, "what was answered is not asked again"
    assert kernel.source
    assert kernel.source == again.source
    assert request.prompt == asked[-1], "the prompt is stored that was answered, and says what it goes without"
    assert len(asked[1]) < len(asked[0])
    assert [error.error.partition(":")[0] for error in archive.failed_asks(question.task.run.id)] == [
        "context overflow"
    ]


@pytest.mark.parametrize("slot", ["first", "kernel", "repair"])
def test_a_question_whose_least_form_is_too_long_is_given_up(archive: Archive, slot: str) -> None:
    with ScriptedEndpoint(lambda _: TOO_LONG) as endpoint:
        kernel, request = Question(archive, slot, endpoint).ask()
        lengths = [len(call.prompt) for call in endpoint.calls]
    assert lengths == sorted(set(lengths), reverse=True)
    assert kernel.source is None
    answer = archive.answer(request.id)
    assert answer is not None
    assert "longer than openai/s accepts" in answer.failure


def test_a_model_that_has_said_how_much_is_too_much_is_asked_with_less_at_once(archive: Archive) -> None:
    with ScriptedEndpoint(lambda prompt: HttpReply(CODE) if MARK in prompt else TOO_LONG) as endpoint:
        question = Question(archive, "kernel", endpoint)
        question.ask()
        question.slot = replace(question.slot, base="0.1", variant=1)
        kernel, request = question.ask()
    assert kernel.source
    assert [MARK in call.prompt for call in endpoint.calls] == [False, True, True]
    assert request.prompt == endpoint.calls[-1].prompt
    assert len(archive.failed_asks(question.task.run.id)) == 1


def test_the_least_form_of_a_question_is_put_even_where_one_as_long_was_too_long(archive: Archive) -> None:
    with ScriptedEndpoint(lambda prompt: TOO_LONG) as endpoint:
        question = Question(archive, "kernel", endpoint)
        question.ask()
        least, before = len(endpoint.calls[-1].prompt), len(endpoint.calls)
        question.slot = replace(question.slot, base="0.1", variant=1)
        kernel, _ = question.ask()
    assert kernel.source is None
    assert [abs(len(call.prompt) - least) < 100 for call in endpoint.calls[before:]] == [True]


# ── a whole search ──────────────────────────────────────────────────────────────────────────────


def longest() -> Entry:
    """The record's longest kernel in C++."""
    with Archive(resources.record(), read_only=True) as record:
        runs = [run for run in record.runs() if run.config.language == "cpp"]
        found = [entry for run in runs for entry in record.entries(run.id) if entry.verified]
    return max(found, key=lambda entry: len(entry.kernel.source or ""))


def test_a_search_goes_on_with_a_model_whose_context_is_short(tmp_path: Path) -> None:
    """Ideas and kernels are asked for without the kernel that a person named, repairs without the middle of the log."""
    inspiring = longest().kernel
    assert inspiring.source
    too_much = inspiring.source.strip(), "error: name 50 is not declared"

    def reply(prompt: str) -> HttpReply:
        return TOO_LONG if any(part in prompt for part in too_much) else HttpReply(scripted.mixed(prompt))

    def verdict(source: str) -> float | Failing:
        return Failing(Status.BUILD_FAILED, LOG) if scripted.BROKEN in source else scripted.verdict(source)

    with ScriptedEndpoint(reply) as endpoint:
        result = treesearch.search(
            scripted.write_problem(tmp_path),
            models=["openai/s"],
            rounds=1,
            ideas=1,
            implementations=2,
            beam=2,
            language="cpp",
            inspire=[inspiring.id],
            options=ModelOptions(api_base=endpoint.base_url),
            archive=tmp_path / "a.db",
            evaluator=ScriptedEvaluator(verdict),
        )
    assert result.winner.verified
    with Archive(tmp_path / "a.db") as archive:
        stored = archive.answers(result.run.id)
    assert not [answer.failure for _, answer in stored if answer.failure]
    assert {request.stage for request, _ in stored if MARK in request.prompt} == set(Stage)
    refused = [call.prompt for call in endpoint.calls if any(part in call.prompt for part in too_much)]
    assert len(endpoint.calls) == len(stored) + len(refused)
