"""A kernel turns out to be suspect: what came from it is judged again, and no model is shown it as a success."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.steps import away, scripted
from tests.steps.away import Split
from treesearch import api
from treesearch.api import Result
from treesearch.archive import Archive
from treesearch.errors import NoUsableAnswer, UsageError, Waiting
from treesearch.evaluation import bundle
from treesearch.lineage import Standing, standing
from treesearch.models import ModelOptions
from treesearch.records import Entry, RunState, Status
from treesearch.steps import dispatch, review
from treesearch.testing import ScriptedEndpoint

WHY = "it remembers the clock"


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    with scripted.settings():
        yield


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(scripted.right) as opened:
        yield opened


def search(store: Archive, folder: Path, endpoint: ScriptedEndpoint, rounds: int = 1, beam: int = 1) -> Result:
    problem, options = scripted.write_problem(folder), ModelOptions(api_base=endpoint.base_url)
    return api.search(
        problem,
        models=["openai/s"],
        rounds=rounds,
        ideas=1,
        implementations=2,
        beam=beam,
        language="cpp",
        options=options,
        archive=store,
        evaluator=scripted.evaluator(),
    )


def answered(problem: Path) -> Result:
    """A search on what lies in the folder `box`."""
    return api.search(
        problem,
        models=["file/box"],
        rounds=1,
        ideas=2,
        beam=2,
        archive="a.db",
        language="cpp",
        evaluator=scripted.evaluator(),
    )


def first(store: Archive) -> Entry:
    run = store.latest_run()
    assert run is not None
    return store.entries(run.id)[0]


def test_what_came_from_a_suspect_is_judged_again_and_asked_again_of_nobody(
    tmp_path: Path, endpoint: ScriptedEndpoint
) -> None:
    with Archive(tmp_path / "a.db") as store:
        before = search(store, tmp_path, endpoint)
        asked = len(endpoint.calls)
        done = review.suspect(store, first(store).kernel.id, WHY)
        assert [standing(entry) for entry in done.others] == [Standing.REOPENED] * 2
        after = search(store, tmp_path, endpoint)
        assert len(endpoint.calls) == asked
        root, *children = after.lineage.entries
        assert standing(root) is Standing.SUSPECT
        assert after.winner in children
        assert after.lineage.path(after.winner.kernel.id)[0] is root, "its path still shows where it came from"
        for child in children:
            old, new = store.evaluations(child.kernel.id)
            assert (old.status, new.status) == (Status.VERIFIED, Status.VERIFIED)
            assert old.seed != new.seed, "the deck is a fresh one"
            assert child.evaluation == new
        assert store.run(before.run.id).state is RunState.DONE
        again = search(store, tmp_path, endpoint)
        assert again.lineage.entries == after.lineage.entries, "once is enough"


def test_a_suspect_is_no_parent_and_no_success_in_any_later_prompt(tmp_path: Path, endpoint: ScriptedEndpoint) -> None:
    with Archive(tmp_path / "a.db") as store:
        search(store, tmp_path, endpoint, rounds=0, beam=2)
        suspect = first(store).kernel
        review.suspect(store, suspect.id, WHY)
        asked = len(endpoint.calls)
        result = search(store, tmp_path, endpoint, rounds=2, beam=2)
        assert all(suspect.id not in one.parents for one in store.rounds(result.run.id))
        prompts = [call.prompt for call in endpoint.calls[asked:]]
        assert prompts
        assert suspect.source is not None
        assert not [prompt for prompt in prompts if suspect.source in prompt]


def test_a_round_that_waits_goes_on_without_a_parent_that_fell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    problem = scripted.write_problem(tmp_path)

    def waits() -> tuple[str, ...]:
        with pytest.raises(Waiting) as stopped:
            answered(problem)
        return stopped.value.pending

    waits()
    scripted.write_answers(tmp_path / "box")
    both = waits()
    assert len(both) == 2, "ideas about each of two parents"
    with Archive("a.db") as store:
        parents = store.rounds(first(store).kernel.run)[1].parents
        review.suspect(store, parents[0], WHY)
        assert set(waits()) == {both[1]}
        review.suspect(store, parents[1], WHY)
    with pytest.raises(NoUsableAnswer, match="2 suspect"):
        answered(problem)


def test_proposals_about_a_parent_that_fell_are_not_implemented(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    problem = scripted.write_problem(tmp_path)

    for _ in range(2):
        with pytest.raises(Waiting):
            answered(problem)
        scripted.write_answers(tmp_path / "box")
    with pytest.raises(Waiting, match="6 answers are due"):
        answered(problem)
    with Archive("a.db") as store:
        fallen, standing_one = [one for one in store.proposals(first(store).kernel.run) if not one.dropped]
        assert fallen.parent != standing_one.parent
        review.suspect(store, fallen.parent, WHY)
    with pytest.raises(Waiting, match="3 answers are due"):
        answered(problem)
    scripted.write_answers(tmp_path / "box")
    result = answered(problem)
    later = [entry.kernel for entry in result.lineage.entries if entry.kernel.round == 1]
    assert [kernel.proposal for kernel in later] == [standing_one] * 3
    assert result.winner.kernel.id != fallen.parent


@pytest.mark.compiler
@pytest.mark.untimed
def test_a_device_elsewhere_judges_again_from_a_bundle_of_its_own(tmp_path: Path) -> None:
    with ScriptedEndpoint(scripted.right) as endpoint:
        split = Split(tmp_path, endpoint, away.write_device(tmp_path, away.target()))
        counts = {"rounds": 1, "implementations": 1, "beam": 1}
        earlier = []
        for _ in range(2):
            earlier.append(split.judge(split.waits(**counts)))
            split.absorb(earlier[-1])
        split.finish(**counts)
        with Archive(split.archive) as store:
            root, child = store.entries(first(store).kernel.run)
            review.suspect(store, root.kernel.id, WHY)
        path = split.waits(**counts)
        assert [due.id for due in bundle.read(path).kernels] == [f"{child.kernel.id}.2"]
        assert split.waits(**counts) == path
        assert [split.absorb(old) for old in earlier] == [0, 0]
        assert split.waits(**counts) == path, "a verdict from before does not count"
        results = split.judge(path)
        assert [split.absorb(results) for _ in range(2)] == [1, 0]
        assert split.finish(**counts).winner.kernel == child.kernel


@pytest.mark.parametrize(("name", "read"), [("ab", ("ab", 1)), ("ab.2", ("ab", 2)), ("ab.13", ("ab", 13))])
def test_a_bundle_names_which_verdict_it_asks_for(name: str, read: tuple[str, int]) -> None:
    assert dispatch.judged(name) == read


@pytest.mark.parametrize("name", ["ab.", "ab.1", "ab.0", "ab.-2", "ab.x", "ab.²", "ab.2.3"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="names no verdict"):
        dispatch.judged(name)


@pytest.mark.compiler
@pytest.mark.untimed
def test_results_that_skip_a_verdict_are_refused(tmp_path: Path) -> None:
    with ScriptedEndpoint(scripted.right) as endpoint:
        split = Split(tmp_path, endpoint, away.write_device(tmp_path, away.target()))
        results = split.judge(split.waits(rounds=0, beam=1))

        def skip(line: int, found: dict[str, object]) -> None:
            if line:
                found["kernel"] = f"{found['kernel']}.3"

        away.rewritten(results, skip)
        with pytest.raises(UsageError, match=r"it holds verdict 3 on kernel \w+, and the archive lacks those before"):
            split.absorb(results)
