"""`treesearch idea`: what a person decides about a run's ideas, how it is told, and what is refused."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.steps import scripted
from tests.view.test_hardware import EVALUATION, H100, NORM
from treesearch import resources
from treesearch.archive import Archive, Finding, Kind
from treesearch.records import (
    Category,
    Config,
    Edge,
    Entry,
    Evaluation,
    Idea,
    Kernel,
    Proposal,
    Relation,
    Round,
    Status,
)
from treesearch.steps.think import NOT_PICKED

OWN = ("--title", "Fuse\x1b[2J both passes", "--mechanism", "One pass over x.")


@dataclass(frozen=True)
class Ran:
    """A run of two rounds of which the second is still to begin, in `archive.db`."""

    folder: Path
    id: str
    root: Entry
    proposals: tuple[Proposal, ...]
    """Tried without a gain, not picked, broken in every kernel, and without a verdict yet."""

    def typed(self, *words: str) -> subprocess.CompletedProcess[str]:
        return scripted.typed(*words, "--archive", "archive.db", cwd=self.folder)

    def told(self, *words: str) -> list[str]:
        """What a command says on standard error."""
        done = self.typed(*words)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        return done.stderr.splitlines()

    def printed(self, *words: str) -> str:
        done = self.typed(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def found(self, *words: str) -> Any:
        return json.loads(self.printed(*words, "--json"))

    def refused(self, *words: str) -> str:
        done = self.typed(*words)
        assert (done.returncode, done.stdout) == (2, ""), done.stdout
        return done.stderr

    def listed(self) -> dict[str, tuple[Sequence[str], bool]]:
        """By title, how an idea is labelled, and whether it waits."""
        return {one["idea"]["title"]: (one["hand"], one["waits"]) for one in self.found("idea", "list", self.id)}


@pytest.fixture
def ran(tmp_path: Path) -> Ran:
    with Archive(tmp_path / "archive.db") as archive:
        run = archive.open_run(NORM, Config(("file/x",), "cuda", rounds=2), H100)
        judged = replace(EVALUATION, device=H100.id)
        root = Kernel(run.id, 0, "0.0", "cuda", "// root", "")
        archive.save_kernel(root)
        archive.save_evaluation(root.id, judged)
        archive.save_round(Round(run.id, 1, (root.id,)))
        dropped = {"Tile it": "", "Unroll twice": NOT_PICKED, "Widen loads": "", "Prefetch rows": ""}
        ideas = [Idea(title, Category.MEMORY, f"{title} by far.", 1.5, "none") for title in dropped]
        proposals = [
            Proposal(run.id, 1, place, root.id, "", idea, dropped[idea.title]) for place, idea in enumerate(ideas)
        ]
        archive.save_proposals(proposals)
        broken = Evaluation(Status.WRONG, H100.id, judged.protocol, "row 3 differs")
        for place, verdict in ((0, judged), (2, broken)):
            child = Kernel(run.id, 1, f"{place}.0", "cuda", f"// {place}", "", proposals[place])
            archive.save_kernel(child, [Edge(root.id, child.id, Relation.REFINES)])
            archive.save_evaluation(child.id, verdict)
    return Ran(tmp_path, run.id, Entry(root, judged), tuple(proposals))


def test_an_idea_is_added_with_who_when_and_why(ran: Ran) -> None:
    [said, goes_on] = ran.told("idea", "add", ran.id, *OWN, "--category", "loops", "--reason", "a paper")
    assert said.endswith("  by hand: Fuse[2J both passes (control flow and loops)"), "nothing that drives a terminal"
    assert goes_on == "Round 2 of 2 begins with it; the same `treesearch run` command goes on."
    [decision] = ran.found("show", ran.id)["decisions"]
    assert (decision["verb"], decision["by"], decision["reason"]) == ("add", "person", "a paper")
    assert decision["created"]
    assert decision["idea"]["category"] == "control flow and loops"
    assert ran.listed()["Fuse[2J both passes"] == (["by hand"], True)
    assert [line for line in ran.printed("show", ran.id).splitlines() if "by hand" in line and "a paper" in line]


def test_the_parent_may_be_named_by_the_beginning_of_its_id(ran: Ran) -> None:
    words = ("idea", "add", ran.id, *OWN, "--parent", ran.root.kernel.id[:5], "--expected-speedup", "2.5")
    added = ran.found(*words)
    assert (added["parent"], added["idea"]["expected_speedup"]) == (ran.root.kernel.id, 2.5)
    assert (added["next_round"], added["rounds"]) == (2, 2)


@pytest.mark.parametrize("place", [1, 2])
def test_what_was_not_picked_or_never_worked_can_be_pinned(ran: Ran, place: int) -> None:
    proposal = ran.proposals[place]
    said = ran.told("idea", "pin", ran.id, proposal.idea.title.upper())
    assert said[0] == f"{proposal.id}  pinned: {proposal.idea.title}"
    assert ran.listed()[proposal.idea.title] == (["pinned"], True)


def test_a_banned_idea_is_labelled_wherever_its_kernel_is(ran: Ran) -> None:
    tiled = ran.proposals[0]
    kernel = ran.found("show", ran.id)["kernels"][1]["kernel"]
    assert ran.found("show", kernel)["hand"] == []
    ran.told("idea", "ban", ran.id, tiled.id[:6], "--reason", "not\x1b[2J wanted")
    assert ran.found("show", kernel)["hand"] == ["banned"]
    assert ran.found("trajectory", kernel)[1]["hand"] == ["banned"]
    for words in (("show", ran.id), ("trajectory", kernel), ("trajectory", kernel, "--markdown")):
        assert "Tile it (banned)" in ran.printed(*words)
    shown = ran.printed("show", kernel)
    assert f"idea {tiled.id}" in shown
    assert "not\ufffd[2J wanted" in shown
    assert "\x1b" not in shown + ran.printed("show", ran.id)
    assert "banned" in next(line for line in ran.printed("idea", "list", ran.id).splitlines() if tiled.id in line)


def test_an_addition_that_no_round_has_taken_up_can_be_taken_back_and_pinned_again(ran: Ran) -> None:
    added = ran.found("idea", "add", ran.id, *OWN)["decision"]
    ran.told("idea", "ban", ran.id, added)
    assert ran.listed()["Fuse[2J both passes"] == (["by hand", "banned"], False)
    assert "taken back" in ran.printed("idea", "list")
    ran.told("idea", "pin", ran.id, added)
    assert ran.listed()["Fuse[2J both passes"] == (["by hand"], True)


class TestGoingOn:
    def ended(self, ran: Ran, rounds: int, stopped: str = "") -> str:
        with Archive(ran.folder / "archive.db") as archive:
            for number in range(2, rounds + 1):
                archive.save_round(Round(ran.id, number, (ran.root.kernel.id,)))
            archive.finish(ran.id, 2, stopped)
        return ran.told("idea", "ban", ran.id, "Tile it")[1]

    def test_a_run_that_has_had_its_rounds_needs_another(self, ran: Ran) -> None:
        said = self.ended(ran, 2)
        assert said == f"Run {ran.id} has had its rounds: the same `treesearch run` command with --rounds 3 goes on."

    def test_a_run_that_stopped_at_a_limit_needs_a_larger_one(self, ran: Ran) -> None:
        said = self.ended(ran, 1, "$1.00 of $1.00 are used")
        assert f"Run {ran.id} has stopped ($1.00 of $1.00 are used)" in said
        assert said.endswith("with a larger limit goes on.")

    def test_a_run_that_lost_patience_needs_none_to_try_an_idea(self, ran: Ran) -> None:
        with Archive(ran.folder / "archive.db") as archive:
            archive.finish(ran.id, 2, "1 round brought no clear gain")
        said = ran.told("idea", "add", ran.id, *OWN)[1]
        assert said.endswith("command goes on, with a larger limit unless that was patience.")


class TestRefusals:
    def test_unknown_names_name_the_closest(self, ran: Ran) -> None:
        said = ran.refused("idea", "ban", ran.id[:-1] + "x", "Tile it")
        assert f"the closest run is {ran.id} on {NORM.name}" in said
        said = ran.refused("idea", "pin", ran.id, "unroll")
        assert f"the closest is {ran.proposals[1].id}, 'Unroll twice'" in said
        said = ran.refused("idea", "add", ran.id, *OWN, "--parent", ran.root.kernel.id[:-1] + "x")
        assert f"the closest is {ran.root.kernel.id}" in said
        assert f"name its run, {ran.id}" in ran.refused("idea", "ban", ran.root.kernel.id, "Tile it")

    def test_a_name_that_more_than_one_idea_answers_to(self, ran: Ran) -> None:
        ran.told("idea", "add", ran.id, "--title", "Tile it", "--mechanism", "Anew.")
        said = ran.refused("idea", "ban", ran.id, "Tile it")
        assert "names more than one idea" in said
        assert ran.proposals[0].id in said

    def test_a_run_without_ideas(self, ran: Ran) -> None:
        with Archive(ran.folder / "archive.db") as archive:
            fresh = archive.open_run(NORM, Config(("file/x",), "cuda", beam=1), H100)
        assert f"`treesearch idea add {fresh.id}` adds one" in ran.refused("idea", "ban", fresh.id, "x")
        assert ran.told("idea", "list", fresh.id) == [f"Run {fresh.id} has no idea yet."]
        assert ran.found("idea", "list", fresh.id) == []

    def test_what_waits_is_under_way_or_is_banned_already(self, ran: Ran) -> None:
        assert "'Prefetch rows', is being tried already" in ran.refused("idea", "pin", ran.id, "Prefetch rows")
        for words in (("add", ran.id, *OWN), ("pin", ran.id, "Unroll twice")):
            ran.told("idea", *words)
            assert "waits for the next round" in ran.refused("idea", *words)
        ran.told("idea", "ban", ran.id, "Tile it")
        assert "is banned already" in ran.refused("idea", "ban", ran.id, "Tile it")

    def test_a_parent_that_does_not_count(self, ran: Ran) -> None:
        with Archive(ran.folder / "archive.db") as archive:
            archive.save_finding(Finding(ran.root.kernel.id, Kind.SUSPECT, "it remembers"))
        for words in (("add", ran.id, *OWN, "--parent", ran.root.kernel.id), ("pin", ran.id, "Unroll twice")):
            said = ran.refused("idea", *words)
            assert f"Kernel {ran.root.kernel.id} is not verified, so nothing can build upon it" in said

    @pytest.mark.parametrize(("title", "said"), [(" \n", "needs a title"), ("x" * 121, "121 characters, and 120")])
    def test_a_title_that_is_empty_or_too_long(self, ran: Ran, title: str, said: str) -> None:
        assert said in ran.refused("idea", "add", ran.id, "--title", title, "--mechanism", "words")

    def test_a_replay_has_nobody_to_implement_it(self, ran: Ran) -> None:
        with Archive(ran.folder / "archive.db") as archive:
            replay = archive.open_run(NORM, Config(("replay/a.db",), "cuda"), H100)
        assert f"Run {replay.id} replays recorded answers" in ran.refused("idea", "add", replay.id, *OWN)

    def test_a_run_of_the_shipped_record(self, tmp_path: Path) -> None:
        with Archive(resources.record(), read_only=True) as record:
            run = record.runs()[0]
            title = record.proposals(run.id)[0].idea.title
        before = resources.record().read_bytes()
        done = scripted.typed("idea", "ban", run.id, title, cwd=tmp_path)
        assert done.returncode == 2
        assert f"Run {run.id} is in the shipped record, which is only read." in done.stderr
        assert resources.record().read_bytes() == before
