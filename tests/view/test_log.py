"""Why a kernel is what it is, from an archive in which everything that can happen to one happened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.archive.conftest import Samples
from tests.view.test_views import HOSTILE, harmless, printed
from treesearch.archive import Archive, Finding, Kind
from treesearch.records import (
    Build,
    Comparison,
    Decision,
    Edge,
    Evaluation,
    Kernel,
    Outcome,
    Proposal,
    Purpose,
    Ratio,
    Relation,
    Remeasurement,
    Stage,
    Status,
    Turn,
    Usage,
    Verb,
)
from treesearch.view import log
from treesearch.view.log import Told

CALLS = '{"content": "Let me see.", "tool_calls": [{"id": "1", "function": {"name": "build", "arguments": "{}"}}]}'
LONG = "word " * 3000
samples = Samples()


def at(minute: int) -> str:
    return f"2026-11-22T08:{minute:02}:00"


def failed(archive: Archive) -> Kernel:
    """A kernel of round 1 that does not compile, although a build came before its answer, and its repair."""
    run = samples.open(archive)
    first = samples.kernel(archive, run)
    archive.save_kernel(first)
    archive.save_evaluation(first.id, samples.verified(created=at(1)))
    ideas = samples.request(run, 1, Stage.IDEAS, "0")
    archive.save_answer(ideas, samples.answer(f"ideas {HOSTILE} {LONG}", created=at(2)))
    proposal = samples.proposal(run, first.id, ideas.id)
    archive.save_proposals([proposal])
    archive.save_decision(Decision(run.id, Verb.PIN, proposal.idea, first.id, proposal.id, HOSTILE, created=at(3)))
    asked = replace(samples.request(run, 1), prompt=f"Write it.{LONG}Now.")
    archive.save_failed_ask(asked, "openai/o3", f"overloaded {HOSTILE}")
    archive.save_turn(asked, Turn("openai/o3", 0, CALLS, (f"it does not build {HOSTILE}",)))
    archive.save_answer(asked, samples.answer("my code", Usage(1000, 200), created=at(4)))
    kernel = Kernel(run.id, 1, "0.0", "cuda", f"// {HOSTILE}", asked.id, proposal)
    archive.save_kernel(kernel, [Edge(first.id, kernel.id, Relation.REFINES)])
    build = Build("nvcc", 1.5, False, f"error: {HOSTILE}")
    broken = samples.failed(Status.BUILD_FAILED, f"kernel.cu:3: error: {HOSTILE}", build=build, created=at(5))
    archive.save_evaluation(kernel.id, broken)
    repair = samples.kernel(archive, run, 1, "0.0r1", proposal)
    archive.save_kernel(repair, [Edge(kernel.id, repair.id, Relation.REPAIRS)])
    archive.save_evaluation(repair.id, samples.verified(created=at(6)))
    return kernel


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "archive.db") as opened:
        yield opened


def told(archive: Archive, kernel: str) -> Told:
    return log.read(archive, archive.kernel(kernel)[0], kernel)


def titles(found: Told) -> list[str]:
    return [step.title for step in log.steps(found)]


def test_why_a_node_failed_and_what_became_of_it_are_the_first_lines(archive: Archive) -> None:
    kernel = failed(archive)
    lines = printed(log.printed(told(archive, kernel.id), full=False)).splitlines()
    assert lines[0].startswith(f"{kernel.id}: build failed · bias_relu, run {kernel.run}, round 1, slot 0.0")
    assert lines[1].startswith("kernel.cu:3: error: ")
    assert lines[2].startswith("repaired by ")
    assert lines[2].endswith(": verified, 0.2 ms, 3.50×")
    assert lines[3].startswith("refines ")


def test_steps_come_in_the_order_in_which_they_happened(archive: Archive) -> None:
    found = told(archive, failed(archive).id)
    assert titles(found)[0].startswith("asked for ideas (")
    assert titles(found)[1] == "answered by o3-2025-04-16 (1,200 tokens, $0.25, 2 s)"
    assert titles(found)[2].endswith(": Tile it")
    assert titles(found)[3:] == [
        "pinned (person)",
        f"asked for the kernel ({found.entry.kernel.answer})",
        "openai/o3 did not answer",
        "builds on the way",
        "answered by o3-2025-04-16 (1,200 tokens, unpriced, 2 s)",
        "did not build (1.5 s)",
        "judged: build failed",
    ]


def test_texts_are_shortened_unless_all_is_wanted_and_json_has_them_whole(archive: Archive) -> None:
    found = told(archive, failed(archive).id)
    short, full = (printed(log.printed(found, full=full)) for full in (False, True))
    assert len(short) < 12_000 < len(full)
    assert "characters left out" in short
    assert "--full prints every text whole" in short
    assert "Now." in short, "the end of a question is its task"
    assert "left out" not in full
    assert "--full" not in full
    whole = log.as_json(found)
    assert whole["steps"][0]["text"] == "prompt 1 ideas 0"
    assert whole["steps"][1]["text"] == f"ideas {HOSTILE} {LONG}"
    assert whole["became"][1] == f"kernel.cu:3: error: {HOSTILE}"


def test_nothing_that_a_model_or_a_compiler_wrote_steers_the_terminal(archive: Archive) -> None:
    found = told(archive, failed(archive).id)
    for full in (False, True):
        written = printed(log.printed(found, full=full))
        assert harmless(written)
        assert "[bold]" in written


def test_a_verified_kernel_has_its_figures_profile_and_what_came_later(archive: Archive) -> None:
    run = samples.open(archive)
    kernel = samples.kernel(archive, run)
    archive.save_kernel(kernel)
    archive.save_evaluation(kernel.id, samples.verified(created=at(1)))
    archive.save_finding(Finding(kernel.id, Kind.SUSPECT, f"too fast {HOSTILE}", created="2026-11-22T09:00:00"))
    again: Any = replace(samples.verified(), created=at(30))
    archive.save_remeasurement(Remeasurement(kernel.id, Purpose.FINAL, again))
    device, other = samples.device.id, "ab" * 6
    beside = Comparison(kernel.id, other, device, Ratio(1.1, 1.05, 1.15), 4, Outcome.FASTER, "2026-11-22T10:00:00")
    archive.save_comparison(beside)
    found = told(archive, kernel.id)
    assert titles(found)[2:] == [
        "built (from the cache)",
        "judged: verified",
        "profile",
        "measured again (final): verified",
        "found suspect by person",
        f"compared: {kernel.id} is faster against {other}",
    ]
    lines = printed(log.printed(found, full=False)).splitlines()
    assert lines[0].startswith(f"{kernel.id}: suspect, 0.2 ms, 3.50×")
    assert lines[1].startswith("suspect: too fast")
    assert "  40 registers" in [line.rstrip() for line in lines]


def test_a_verdict_without_a_profile_is_told_from_its_fields(archive: Archive) -> None:
    run = samples.open(archive)
    kernel = samples.kernel(archive, run)
    archive.save_kernel(kernel)
    archive.save_evaluation(kernel.id, samples.verified(profile=""))
    (profile,) = (step.text for step in log.steps(told(archive, kernel.id)) if step.title == "profile")
    assert profile.startswith("Status: verified")


def test_a_kernel_without_answer_code_or_verdict_is_told_all_the_same(archive: Archive) -> None:
    run = samples.open(archive)
    kernel = Kernel(run.id, 0, "0.0", "cuda", None, "")
    archive.save_kernel(kernel)
    assert next(log.became(told(archive, kernel.id))).startswith(f"{kernel.id}: due")
    assert titles(told(archive, kernel.id)) == []
    none: Evaluation = samples.failed(Status.NO_CODE, "no fenced block")
    archive.save_evaluation(kernel.id, none)
    assert list(log.became(told(archive, kernel.id)))[1] == "no fenced block"


def test_an_idea_that_a_person_added_was_asked_of_nobody(archive: Archive) -> None:
    run = samples.open(archive)
    first = samples.kernel(archive, run)
    archive.save_kernel(first)
    idea = samples.proposal(run, first.id, "").idea
    added = archive.save_decision(Decision(run.id, Verb.ADD, idea, first.id, reason="a hunch"))
    proposal = Proposal(run.id, 1, 0, first.id, "", idea, decision=added.id)
    archive.save_proposals([proposal])
    kernel = samples.kernel(archive, run, 1, "0.0", proposal)
    archive.save_kernel(kernel, [Edge(first.id, kernel.id, Relation.REFINES)])
    assert titles(told(archive, kernel.id))[:2] == [f"idea {proposal.id}: Tile it", "by hand (person)"]
