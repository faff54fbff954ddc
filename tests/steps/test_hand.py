"""Searches in which a person adds, pins or bans ideas. Answers come over HTTP or from files; nothing is built."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.steps import scripted
from treesearch import api
from treesearch.archive import Archive, Finding, Kind
from treesearch.errors import Waiting
from treesearch.lineage import Lineage
from treesearch.models import ModelOptions
from treesearch.records import Category, Entry, Idea, Proposal, Run, Verb, digest
from treesearch.steps import decide
from treesearch.steps.hand import allowed, bans, waiting
from treesearch.steps.think import NOT_PICKED
from treesearch.testing import Failing, ScriptedEndpoint, ScriptedEvaluator

OWN = Idea("Fold the scale into the rows", Category.COMPUTE, "One multiply fewer for each element.", 1.3, "")


def reply(prompt: str) -> str:
    """Every kernel is right, and says in its text whether it implements an idea."""
    if scripted.is_ideas(prompt):
        return scripted.ideas(prompt)
    what = "idea" if "## The idea to implement" in prompt else "first"
    return scripted.fenced(scripted.source(mark=f"{what} {digest(prompt)[:12]}"))


def verdict(source: str) -> float | Failing:
    """Kernels of ideas are faster than all first ones."""
    time = scripted.verdict(source)
    return time / 3 if isinstance(time, float) and "// idea" in source else time


def proposing(idea: Idea) -> Callable[[str], str]:
    """Answers that hold no idea but this one."""
    listed = [{"title": idea.title, "category": str(idea.category), "mechanism": idea.mechanism}]
    return lambda prompt: f"```json\n{json.dumps(listed)}\n```" if scripted.is_ideas(prompt) else reply(prompt)


@dataclass
class Search:
    """A search of one problem that goes on whenever it is told to."""

    folder: Path
    archive: Archive
    endpoint: ScriptedEndpoint | None = None
    """Where it asks; without one, it asks through files."""
    reply: Callable[[str], str] = reply
    prompts: list[str] = field(default_factory=list)

    def go(self, rounds: int) -> None:
        """So many rounds, with what was asked over HTTP for them in `prompts`."""
        calls = self.endpoint.calls if self.endpoint else []
        before = len(calls)
        api.search(
            self.folder / "scaled_relu.py",
            models=["openai/s" if self.endpoint else f"file/{self.folder / 'answers'}"],
            rounds=rounds,
            ideas=2,
            implementations=2,
            beam=2,
            repairs=0,
            archive=self.archive,
            options=ModelOptions(api_base=self.endpoint.base_url if self.endpoint else None),
            evaluator=ScriptedEvaluator(verdict),
        )
        self.prompts = [call.prompt for call in calls[before:]]

    @property
    def run(self) -> Run:
        found = self.archive.latest_run()
        assert found is not None
        return found

    @property
    def lineage(self) -> Lineage:
        return Lineage(self.archive.entries(self.run.id), self.archive.edges(self.run.id))

    def proposals(self, number: int) -> tuple[Proposal, ...]:
        return self.archive.proposals(self.run.id, number)

    def kernels_of(self, idea: Idea, number: int) -> list[Entry]:
        return [one for one in self.lineage.entries if one.kernel.idea == idea and one.kernel.round == number]

    def parents(self, number: int) -> tuple[str, ...]:
        return self.archive.rounds(self.run.id)[number].parents


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Search]:
    monkeypatch.setenv("OPENAI_API_KEY", "dummy")
    scripted.write_problem(tmp_path)
    with Archive(tmp_path / "a.db") as archive:
        found = Search(tmp_path, archive)
        with ScriptedEndpoint(lambda prompt: found.reply(prompt)) as found.endpoint:
            yield found


def test_an_added_idea_is_tried_in_the_next_round_beside_those_asked_for(search: Search) -> None:
    search.go(1)
    decided = decide.add(search.archive, search.run, OWN, reason="seen elsewhere")
    assert decided.round == 2
    search.go(2)
    own, *others = search.proposals(2)
    assert (own.idea, own.dropped, own.answer, own.decision) == (OWN, "", "", decided.decision.id)
    assert own.verbs == (Verb.ADD,)
    assert sum(not one.dropped for one in others) == 2, "as many of the model's as without it"
    found = search.kernels_of(OWN, 2)
    assert [one.verified for one in found] == [True, True]
    above = [search.lineage.parent(one.kernel.id) for one in found]
    assert [one.kernel.id for one in above if one] == [search.parents(2)[0]] * 2
    assert waiting(search.archive.decisions(search.run.id), search.archive.proposals(search.run.id)) == ()


def test_an_added_idea_may_name_its_parent_and_models_that_repeat_it_are_not_picked(search: Search) -> None:
    search.go(1)
    root = search.lineage.entries[0].kernel.id
    repeated = Idea("Prefetch upcoming rows early", Category.ASYNCHRONY, "Hints hide the latency of DRAM.", 1.2, "")
    decide.add(search.archive, search.run, repeated, parent=root[:8])
    search.reply = proposing(repeated)
    search.go(2)
    own, *others = search.proposals(2)
    assert (own.parent, own.dropped) == (root, "")
    assert root not in search.parents(2)
    assert {one.dropped for one in others} == {f"near-duplicate of {repeated.title!r}"}
    assert {one.kernel.idea for one in search.lineage.entries if one.kernel.round == 2} == {repeated}


def test_a_pinned_idea_is_tried_on_the_kernel_that_it_was_about(search: Search) -> None:
    search.go(1)
    passed_over = next(one for one in search.proposals(1) if one.dropped == NOT_PICKED)
    decide.pin(search.archive, search.run, passed_over.id[:7], reason="worth a try")
    search.go(2)
    pinned = search.proposals(2)[0]
    assert (pinned.idea, pinned.parent, pinned.dropped) == (passed_over.idea, passed_over.parent, "")
    assert len(search.kernels_of(passed_over.idea, 2)) == 2
    assert [one.verbs for one in (pinned, search.proposals(1)[passed_over.ordinal])] == [(Verb.PIN,), (Verb.PIN,)]


def test_what_came_of_a_banned_idea_is_no_parent_and_models_are_told(search: Search) -> None:
    search.go(1)
    fastest = search.lineage.fastest()
    assert fastest is not None
    banned = fastest.kernel.proposal
    assert banned is not None
    decide.ban(search.archive, search.run, banned.id, reason="it would\nnot be portable")
    search.reply = proposing(replace(banned.idea, mechanism="It says the same in other words."))
    search.go(2)
    assert search.parents(2)
    for parent in search.parents(2):
        assert banned.idea not in [entry.kernel.idea for entry in search.lineage.path(parent)]
    asked = [prompt for prompt in search.prompts if scripted.is_ideas(prompt)]
    line = f"- {banned.idea.title} ({banned.idea.category}): it would not be portable\n"
    assert asked
    assert all(line in prompt for prompt in asked)
    assert {one.dropped for one in search.proposals(2)} == {f"near-duplicate of {banned.idea.title!r}, which is banned"}


def test_a_round_that_has_begun_is_left_as_it_is(tmp_path: Path) -> None:
    """Through files: what is asked stays the same, whatever a person decides meanwhile."""
    scripted.write_problem(tmp_path)
    answers = tmp_path / "answers"
    with Archive(tmp_path / "a.db") as archive:
        search = Search(tmp_path, archive)
        until_ideas_are_due(search, 1)
        decide.add(archive, search.run, OWN)
        unchanged(search)
        until_ideas_are_due(search, 2)
        assert search.kernels_of(OWN, 1) == []
        assert [one.idea for one in search.proposals(1) if one.decision] == []
        [banned] = [one for one in search.proposals(1) if not one.dropped][:1]
        decide.ban(archive, search.run, banned.id)
        unchanged(search)
        until_ideas_are_due(search, 3)
        assert len(search.kernels_of(OWN, 2)) == 2
        due = [path for path in answers.glob("*.prompt.md") if not answer_of(path).exists()]
        told = [path for path in answers.glob("*.prompt.md") if f"\n- {banned.idea.title} (" in banned_part(path)]
        assert sorted(told) == sorted(due), "the third round begins with the ban"


def answer_of(prompt: Path) -> Path:
    return prompt.with_name(prompt.name.replace(".prompt.", ".answer."))


def banned_part(prompt: Path) -> str:
    return prompt.read_text().partition("## Banned ideas")[2].partition("\n## ")[0]


def until_ideas_are_due(search: Search, number: int) -> None:
    """Answer what is asked up to a round's questions for ideas, and leave those open."""
    answers = search.folder / "answers"
    while True:
        with pytest.raises(Waiting):
            search.go(3)
        due = [path for path in answers.glob("*.prompt.md") if not answer_of(path).exists()]
        if len(search.archive.rounds(search.run.id)) > number and all(scripted.is_ideas(p.read_text()) for p in due):
            return
        assert scripted.write_answers(answers)


def unchanged(search: Search) -> None:
    """Going on asks what was asked, in the same words."""
    answers = search.folder / "answers"
    before = {path.name: path.read_bytes() for path in answers.glob("*.prompt.md")}
    with pytest.raises(Waiting):
        search.go(3)
    assert {path.name: path.read_bytes() for path in answers.glob("*.prompt.md")} == before
    assert scripted.write_answers(answers)


def test_decisions_that_cannot_be_carried_out_say_why(search: Search) -> None:
    search.go(1)
    fastest, other = search.lineage.verified()[:2]
    decide.add(search.archive, search.run, OWN, parent=other.kernel.id)
    decide.add(search.archive, search.run, OWN, parent=fastest.kernel.id)
    decide.add(search.archive, search.run, OWN)
    search.archive.save_finding(Finding(other.kernel.id, Kind.SUSPECT, "it remembers"))
    search.go(2)
    assert search.parents(2)[0] == fastest.kernel.id
    assert [one.dropped for one in search.proposals(2) if one.decision] == [
        f"kernel {other.kernel.id}, which it is about, does not count any more",
        "",
        "the same as another of this round",
    ]
    assert len(search.kernels_of(OWN, 2)) == 2


class TestTheNewestWord:
    """Decisions about one idea, in order, and what holds of them."""

    @pytest.fixture
    def decided(self, search: Search) -> Callable[..., tuple[Verb, ...]]:
        search.go(1)
        [proposal, *_] = [one for one in search.proposals(1) if not one.dropped]

        def decide_all(*verbs: Callable[..., object]) -> tuple[Verb, ...]:
            for verb in verbs:
                verb(search.archive, search.run, proposal.id)
            return search.proposals(1)[proposal.ordinal].verbs

        return decide_all

    def test_a_ban_bars_kernels_until_a_pin_lifts_it(self, search: Search, decided: Callable[..., object]) -> None:
        everything = len(search.lineage.entries)
        assert decided(decide.ban) == (Verb.BAN,)
        assert len(allowed(search.lineage).entries) == everything - 2
        assert len(bans(search.archive.decisions(search.run.id))) == 1
        assert decided(decide.pin) == (Verb.PIN,)
        assert allowed(search.lineage).entries == search.lineage.entries
        assert bans(search.archive.decisions(search.run.id)) == ()

    def test_a_ban_takes_a_pin_back(self, search: Search, decided: Callable[..., object]) -> None:
        assert decided(decide.pin, decide.ban) == (Verb.PIN, Verb.BAN)
        assert waiting(search.archive.decisions(search.run.id), search.archive.proposals(search.run.id)) == ()
        search.go(2)
        assert [one for one in search.proposals(2) if one.decision] == []
