"""What a round asks for, what it keeps of the answers, and what it drops. Nothing is built or judged here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.test_prompts import DEVICE, PROBLEM, PROTOCOL, verified
from treesearch.archive import Archive
from treesearch.errors import PromptTooLong, QuestionRefused
from treesearch.languages import CPP
from treesearch.models import Pool
from treesearch.policies import fastest
from treesearch.prompts import Inspiration, Templates
from treesearch.records import (
    Config,
    Edge,
    Entry,
    Evaluation,
    Kernel,
    Proposal,
    Relation,
    Request,
    Stage,
    Status,
)
from treesearch.steps import attempt
from treesearch.steps.task import Task
from treesearch.steps.think import NOT_PICKED, think
from treesearch.testing import ScriptedModel

TOPICS = (
    "Tile rows for cache",
    "Prefetch distant columns",
    "Widen vector registers",
    "Split work by socket",
    "Fuse both loops",
)


def idea(topic: str, speedup: float = 1.2, risk: str = "medium") -> dict[str, object]:
    mechanism = f"{topic}: " + " ".join(f"{word}{topic[:4].lower()}" for word in ("alpha", "beta", "gamma", "delta"))
    return {
        "title": topic,
        "category": "memory access",
        "mechanism": mechanism,
        "expected_speedup": speedup,
        "risk": risk,
        "refuted_if": f"{topic} changes nothing",
    }


def said(*ideas: dict[str, object]) -> str:
    return f"```json\n{json.dumps(ideas)}\n```"


@dataclass
class Search:
    """A run with one verified kernel, and a model whose answers the test writes."""

    archive: Archive
    task: Task
    model: ScriptedModel
    root: Entry

    def think(self, number: int = 1, parent: Entry | None = None) -> tuple[Proposal, ...]:
        return think(self.task, number, [parent or self.root])

    def child(self, proposal: Proposal, evaluation: Evaluation) -> Entry:
        kernel = Kernel(self.task.run.id, proposal.round, f"{proposal.ordinal}.0", "cpp", "child", "", proposal)
        self.archive.save_kernel(kernel, [Edge(proposal.parent, kernel.id, Relation.REFINES)])
        self.archive.save_evaluation(kernel.id, evaluation)
        return Entry(kernel, evaluation)


Start = Callable[..., Search]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    with Archive(tmp_path / "archive.db") as archive:

        def started(*answers: str | Exception, ideas: int = 2, **more: object) -> Search:
            left = list(answers)

            def next_answer(request: Request) -> str:
                answer = left.pop(0)
                if isinstance(answer, Exception):
                    raise answer
                return answer

            model = ScriptedModel("scripted/model", next_answer)
            run = archive.open_run(PROBLEM, Config(("scripted/model",), ideas=ideas), DEVICE)
            root = timed(Kernel(run.id, 0, "0.0", "cpp", "root", ""), 3.0)
            archive.save_kernel(root.kernel)
            assert root.evaluation is not None
            archive.save_evaluation(root.kernel.id, root.evaluation)
            judge: object = None  # nothing is judged here
            parts = {
                "models": Pool([model], [model]),
                "policy": fastest,
                "archive": archive,
                "evaluator": judge,
                **more,
            }
            task = Task(run=run, problem=PROBLEM, language=CPP, device=DEVICE, **parts)  # type: ignore[arg-type]
            return Search(archive, task, model, root)

        yield started


def timed(kernel: Kernel, milliseconds: float) -> Entry:
    entry = verified(kernel, milliseconds)
    assert entry.evaluation is not None
    return replace(entry, evaluation=replace(entry.evaluation, device=DEVICE.id))


def titles(proposals: tuple[Proposal, ...]) -> list[str]:
    return [proposal.idea.title for proposal in proposals if not proposal.dropped]


def test_half_as_many_again_are_asked_for_and_a_spread_is_kept(start: Start) -> None:
    solid, plain = idea(TOPICS[0], 1.4, "low"), idea(TOPICS[1], 1.05, "low; nearly certain")
    bold, dull = idea(TOPICS[2], 4.0, "high"), idea(TOPICS[3], 1.1, "high")
    search = start(said(dull, plain, bold, solid), ideas=3)
    proposals = search.think()
    assert "Propose exactly 5 ideas" in search.model.requests[0].prompt
    assert titles(proposals) == [TOPICS[1], TOPICS[2], TOPICS[0]]
    assert [proposal.dropped for proposal in proposals] == [NOT_PICKED, "", "", ""]
    assert search.archive.proposals(search.task.run.id) == proposals, "with what would refute them"
    assert proposals[0].idea.refutation == f"{TOPICS[3]} changes nothing"


def test_repeated_ideas_are_dropped_and_others_asked_for_once(start: Start) -> None:
    again = {**idea(TOPICS[0]), "title": "Rows tiled for cache"}
    search = start(said(idea(TOPICS[0]), again), said(idea(TOPICS[0]), idea(TOPICS[1])))
    proposals = search.think()
    first, second = search.model.requests
    assert second.ordinal == f"{first.ordinal}r1"
    assert "need not name again" not in first.prompt
    assert f"- {TOPICS[0]} (memory access)\n- Rows tiled for cache" in second.prompt
    assert titles(proposals) == [TOPICS[0], TOPICS[1]]
    assert [proposal.answer for proposal in proposals] == [first.id, first.id, second.id, second.id]
    assert proposals[1].dropped == f"near-duplicate of {TOPICS[0]!r}"


def test_a_second_answer_of_old_ideas_is_not_asked_about_again(start: Start) -> None:
    search = start(said(idea(TOPICS[0])), said(idea(TOPICS[0])))
    assert titles(search.think()) == [TOPICS[0]]
    assert len(search.model.requests) == 2


def test_what_earlier_rounds_settled_is_dropped_and_what_they_left_open_is_not(start: Start) -> None:
    three = said(*map(idea, TOPICS[:3]))
    search = start(three, three, said(idea(TOPICS[3])))
    refuted, _, open_ = search.think()
    slower = timed(search.root.kernel, 3.5).evaluation
    assert slower is not None
    search.child(refuted, slower)
    search.child(open_, Evaluation(Status.WRONG, DEVICE.id, PROTOCOL, "off by one"))
    proposals = search.think(2)
    assert proposals[0].dropped == f"near-duplicate of {TOPICS[0]!r}", "it is known not to pay"
    assert TOPICS[2] in titles(proposals), "none of its kernels worked, which may be their fault"


def test_an_idea_that_is_in_the_parent_already_is_dropped(start: Start) -> None:
    search = start(said(*map(idea, TOPICS[:3])), said(*map(idea, (TOPICS[0], *TOPICS[3:]))))
    faster = timed(search.root.kernel, 2.0).evaluation
    assert faster is not None
    child = search.child(search.think()[0], faster)
    assert titles(search.think(2, child)) == [TOPICS[3], TOPICS[4]]


def test_answers_are_stored_with_the_digest_of_the_templates_that_asked_for_them(start: Start, tmp_path: Path) -> None:
    (tmp_path / "_device.md.j2").write_text("## The machine\n\nA fast one.\n")
    own = Templates(tmp_path)
    search = start(said(*map(idea, TOPICS[:3])), templates=own)
    search.think()
    ((request, _),) = search.archive.answers(search.task.run.id)
    assert "A fast one." in request.prompt
    assert request.templates == own.digest != Templates().digest


def test_a_kernel_that_a_person_named_is_shown_and_is_on_record(start: Start) -> None:
    other = timed(Kernel("elsewhere", 0, "0.0", "cpp", "inspiring source", ""), 1.0)
    unasked = timed(Kernel("elsewhere", 0, "0.1", "cpp", "other source", ""), 1.0)
    bank = (
        Inspiration("gelu", other, "inspiring source", (), asked=True),
        Inspiration("relu_norm", unasked, "other source", ("relu",)),
    )
    search = start(said(*map(idea, TOPICS[:3])), '```cpp\n#include "problem.h"\nint launch();\n```', bank=bank)
    proposal = search.think()[0]
    slot = attempt.Slot("0.0", 0, 1, search.root, proposal)
    kernel = attempt._implement(search.task, Kernel(search.task.run.id, 1, "0.0", "cpp", None, "", proposal), slot)
    for request in search.model.requests:
        assert "### gelu: 1 ms" in request.prompt
        assert "A person chose it" in request.prompt
        assert "In common: relu.\n" in request.prompt
    edges = {(edge.parent, edge.relation) for edge in search.archive.edges(search.task.run.id)}
    assert edges == {(search.root.kernel.id, Relation.REFINES), (other.kernel.id, Relation.INSPIRED_BY)}
    assert search.task.lineage().inspirations(kernel.id) == (other.kernel.id,)


def test_a_replay_takes_what_was_implemented_whatever_would_be_picked_now(start: Start) -> None:
    def recorded(stage: Stage, parent: str, ordinal: str) -> bool:
        return stage is Stage.KERNEL or ordinal == "0"

    search = start(said(*map(idea, TOPICS)), ideas=2, replays=True, can_answer=recorded)
    assert titles(search.think()) == list(TOPICS[:4]), "a share may have been larger than it is here"
    assert len(search.model.requests) == 1


def test_requests_keep_their_place_whatever_the_templates() -> None:
    plain = Request("run", 1, Stage.IDEAS, "problem", "parent", "0", "prompt")
    assert replace(plain, templates="7e3f").id == plain.id
    assert re.fullmatch(r"[0-9a-f]{12}", Templates().digest)


def test_a_kernel_that_a_shorter_prompt_did_not_show_is_no_inspiration(start: Start) -> None:
    other = timed(Kernel("elsewhere", 0, "0.0", "cpp", "inspiring source", ""), 1.0)
    bank = (Inspiration("gelu", other, "inspiring source", (), asked=True),)
    code = '```cpp\n#include "problem.h"\nint launch();\n```'
    search = start(said(*map(idea, TOPICS[:3])), PromptTooLong("too long"), code, bank=bank)
    proposal = search.think()[0]
    slot = attempt.Slot("0.0", 0, 1, search.root, proposal)
    attempt._implement(search.task, Kernel(search.task.run.id, 1, "0.0", "cpp", None, "", proposal), slot)
    _, long, short = (request.prompt for request in search.model.requests)
    assert "inspiring source" in long
    assert "inspiring source" not in short
    assert [edge.relation for edge in search.archive.edges(search.task.run.id)] == [Relation.REFINES]


def test_a_question_for_ideas_that_is_refused_leaves_a_round_without_any(start: Start) -> None:
    search = start(QuestionRefused("no"), QuestionRefused("no"))
    assert search.think() == ()
    assert [answer.failure for _, answer in search.archive.answers(search.task.run.id)] == ["no", "no"]
