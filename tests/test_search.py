"""A whole search through a real endpoint and a real store, and the ways to continue or repeat it.

Verdicts are scripted, but for those of one replay, whose kernels are built and timed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

import treesearch
from tests.steps import away, scripted
from treesearch.api import Result
from treesearch.archive import Archive
from treesearch.errors import ModelUnavailable, NoUsableAnswer, Waiting
from treesearch.events import Event, Judged, Moved, Replaying, RunOpened, Step
from treesearch.models import ModelOptions
from treesearch.records import Relation, RunState, Stage, Status
from treesearch.steps.think import NOT_PICKED
from treesearch.testing import Failing, ScriptedEndpoint, ScriptedEvaluator

MODELS = ("openai/scripted", "openai/scripted-too")


@pytest.fixture(scope="module", autouse=True)
def _settings() -> Iterator[None]:
    with scripted.settings():
        yield


def on_another_machine(source: str) -> float | Failing:
    """Verdicts with times that order kernels the other way round."""
    found = scripted.verdict(source)
    return found if isinstance(found, Failing) else 1 - found


@dataclass(frozen=True)
class Searched:
    """One search of two rounds by two models, and what is needed to go on with it."""

    problem: Path
    archive: Path
    endpoint: ScriptedEndpoint
    result: Result
    calls: int

    def again(self, rounds: int = 2, *, new: bool = False, watched: list[Event] | None = None) -> Result:
        return treesearch.search(
            self.problem,
            models=MODELS,
            rounds=rounds,
            ideas=3,
            implementations=2,
            beam=2,
            archive=self.archive,
            options=ModelOptions(api_base=self.endpoint.base_url),
            new=new,
            evaluator=scripted.evaluator(),
            observe=(watched if watched is not None else []).append,
        )


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searched]:
    folder = tmp_path_factory.mktemp("search")
    problem, archive = scripted.write_problem(folder), folder / "archive.db"
    with ScriptedEndpoint(scripted.mixed) as endpoint:
        options = ModelOptions(api_base=endpoint.base_url)
        result = treesearch.search(
            problem,
            models=MODELS,
            rounds=2,
            ideas=3,
            implementations=2,
            beam=2,
            archive=archive,
            options=options,
            evaluator=scripted.evaluator(),
        )
        yield Searched(problem, archive, endpoint, result, len(endpoint.calls))


class TestOneSearch:
    def test_the_first_round_starts_from_the_problem_and_later_ones_from_verified_kernels(
        self, searched: Searched
    ) -> None:
        lineage = searched.result.lineage
        with Archive(searched.archive) as store:
            rounds = store.rounds(searched.result.run.id)
        assert [len(one.parents) for one in rounds] == [0, 2, 2]
        for one in rounds[1:]:
            earlier = [lineage.entry(parent).kernel.round for parent in one.parents]
            assert all(lineage.entry(parent).verified for parent in one.parents)
            assert max(earlier) < one.number
        assert searched.result.run.state is RunState.DONE

    def test_each_kept_idea_is_implemented_as_often_as_asked(self, searched: Searched) -> None:
        run = searched.result.run.id
        with Archive(searched.archive) as store:
            proposals = [proposal for proposal in store.proposals(run) if not proposal.dropped]
        entries = searched.result.lineage.entries
        firsts = Counter(
            entry.kernel.proposal.id for entry in entries if entry.kernel.proposal and "r" not in entry.kernel.ordinal
        )
        assert firsts == {proposal.id: 2 for proposal in proposals}
        assert len([entry for entry in entries if entry.kernel.round == 0]) == 3  # a beam of two, one repaired

    def test_what_is_dropped_stays_in_the_record_but_is_not_implemented(self, searched: Searched) -> None:
        with Archive(searched.archive) as store:
            dropped = [proposal for proposal in store.proposals(searched.result.run.id) if proposal.dropped]
        implemented = {entry.kernel.proposal for entry in searched.result.lineage.entries}
        reasons = Counter(proposal.dropped.partition(" of ")[0] for proposal in dropped)
        assert reasons == {"near-duplicate": 2, NOT_PICKED: 2}, "one of each a round"
        assert implemented.isdisjoint(dropped)

    def test_failures_stay_in_the_record_with_their_reason(self, searched: Searched) -> None:
        statuses = Counter(
            entry.evaluation.status for entry in searched.result.lineage.entries if entry.evaluation is not None
        )
        assert statuses == {Status.VERIFIED: 8, Status.BUILD_FAILED: 7, Status.WRONG: 6}
        for entry in searched.result.lineage.entries:
            assert entry.evaluation is not None
            if entry.evaluation.status is Status.BUILD_FAILED:
                assert "gone" in entry.evaluation.error
                assert entry.kernel.source is not None

    def test_a_failure_is_repaired_once_and_the_repair_points_back_at_it(self, searched: Searched) -> None:
        lineage = searched.result.lineage
        with Archive(searched.archive) as store:
            edges = store.edges(searched.result.run.id)
        repairs = [edge for edge in edges if edge.relation is Relation.REPAIRS]
        failed = [
            entry.kernel.id for entry in lineage.entries if not entry.verified and "r" not in entry.kernel.ordinal
        ]
        assert sorted(edge.parent for edge in repairs) == sorted(failed)
        for edge in repairs:
            first, second = lineage.entry(edge.parent).kernel, lineage.entry(edge.child).kernel
            assert second.ordinal == f"{first.ordinal}r1"
            assert second.proposal == first.proposal
        assert not [entry for entry in lineage.entries if entry.kernel.ordinal.endswith("r2")]

    def test_every_kernel_with_an_idea_refines_the_parent_that_the_idea_is_about(self, searched: Searched) -> None:
        with Archive(searched.archive) as store:
            refines = {
                edge.child: edge.parent
                for edge in store.edges(searched.result.run.id)
                if edge.relation is Relation.REFINES
            }
        firsts = [
            entry.kernel
            for entry in searched.result.lineage.entries
            if entry.kernel.proposal and "r" not in entry.kernel.ordinal
        ]
        assert refines == {kernel.id: kernel.proposal.parent for kernel in firsts if kernel.proposal}

    def test_both_models_are_asked_at_every_stage(self, searched: Searched) -> None:
        with Archive(searched.archive) as store:
            stored = store.answers(searched.result.run.id)
        asked = Counter((request.stage, answer.model) for request, answer in stored)
        assert {model for _, model in asked} == set(MODELS)
        assert asked[Stage.KERNEL, MODELS[0]] == asked[Stage.KERNEL, MODELS[1]]
        posted = {str(call.parameters["model"]) for call in searched.endpoint.calls[: searched.calls]}
        assert posted == {"scripted", "scripted-too"}

    def test_each_question_is_asked_once_and_stored_as_it_was_put(self, searched: Searched) -> None:
        with Archive(searched.archive) as store:
            prompts = [request.prompt for request, _ in store.answers(searched.result.run.id)]
        assert Counter(prompts) == Counter(call.prompt for call in searched.endpoint.calls[: searched.calls])

    def test_the_winner_is_the_fastest_verified_kernel(self, searched: Searched) -> None:
        verified = [entry for entry in searched.result.lineage.entries if entry.verified]
        assert searched.result.winner.milliseconds == min(entry.milliseconds or 0 for entry in verified)

    def test_path_of_a_kernel_leads_from_the_first_round_to_it(self, searched: Searched) -> None:
        last = max(searched.result.lineage.verified(), key=lambda entry: entry.kernel.round)
        path = searched.result.lineage.path(last.kernel.id)
        assert path[0].kernel.round == 0
        assert path[-1] == last
        assert [entry.kernel.round for entry in path] == sorted(entry.kernel.round for entry in path)


class TestGoingOn:
    def test_the_same_search_again_asks_and_judges_nothing(self, searched: Searched) -> None:
        before, watched = len(searched.endpoint.calls), list[Event]()
        again = searched.again(watched=watched)
        assert len(searched.endpoint.calls) == before
        assert again.winner == searched.result.winner
        assert again.run.id == searched.result.run.id
        assert not [event for event in watched if isinstance(event, Judged) and event.fresh]
        opened = [event for event in watched if isinstance(event, RunOpened)]
        assert opened[0].entries == searched.result.lineage.entries

    def test_more_rounds_continue_the_run_and_new_starts_another(self, searched: Searched) -> None:
        more = searched.again(rounds=3)
        assert more.run.id == searched.result.run.id
        assert {entry.kernel.id for entry in searched.result.lineage.entries} < {
            entry.kernel.id for entry in more.lineage.entries
        }
        asked = len(searched.endpoint.calls)
        other = searched.again(rounds=0, new=True)
        assert other.run.id != more.run.id
        assert len(other.lineage.entries) == 3
        assert len(searched.endpoint.calls) == asked + 3
        with Archive(searched.archive) as store:
            assert [run.id for run in store.runs()] == [other.run.id, more.run.id]


class TestReplay:
    def test_recorded_answers_give_the_same_kernels_with_timings_of_their_own(
        self, searched: Searched, tmp_path: Path
    ) -> None:
        recorded, watched = searched.archive.read_bytes(), list[Event]()
        result = treesearch.search(
            searched.problem,
            models=[f"replay/{searched.archive}"],
            archive=tmp_path / "a.db",
            observe=watched.append,
            evaluator=ScriptedEvaluator(on_another_machine),
        )
        with Archive(searched.archive, read_only=True) as store:  # other tests may have searched on
            theirs = {entry.kernel.digest: entry for run in store.runs() for entry in store.entries(run.id)}
        ours = {entry.kernel.digest: entry for entry in result.lineage.entries}
        first = searched.result.lineage.entries
        in_its_first_rounds = {entry.kernel.digest for entry in first if entry.kernel.round <= 1}
        assert in_its_first_rounds <= ours.keys() <= theirs.keys()
        for digest in ours:
            mine, other = ours[digest].evaluation, theirs[digest].evaluation
            assert mine is not None
            assert other is not None
            assert mine.status is other.status
            if mine.measurement and other.measurement:
                assert mine.measurement.kernel.samples != other.measurement.kernel.samples
        assert result.run.state is RunState.DONE, "an exhausted recording ends the search, it does not fail it"
        assert [event for event in watched if isinstance(event, Replaying) and "scripted" in event.recording]
        assert searched.archive.read_bytes() == recorded

    @pytest.mark.compiler
    def test_recorded_kernels_are_built_and_timed_here(
        self, searched: Searched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        away.believe(monkeypatch)
        archive = tmp_path / "a.db"
        result = treesearch.search(searched.problem, models=[f"replay/{searched.archive}"], rounds=0, archive=archive)
        statuses = {
            entry.kernel.ordinal: entry.evaluation and entry.evaluation.status for entry in result.lineage.entries
        }
        assert statuses == {"0.0": Status.VERIFIED, "0.1": Status.BUILD_FAILED, "0.1r1": Status.VERIFIED}
        verdict = result.winner.evaluation
        assert verdict is not None
        assert verdict.measurement is not None
        assert verdict.build is not None
        assert len(verdict.measurement.kernel.samples) > 1

    def test_questions_beyond_the_recording_are_missed_and_stop_nothing(
        self, searched: Searched, tmp_path: Path
    ) -> None:
        """Three implementations of each idea are wanted where two were recorded."""
        watched = list[Event]()
        result = treesearch.search(
            searched.problem,
            models=[f"replay/{searched.archive}"],
            rounds=1,
            implementations=3,
            archive=tmp_path / "a.db",
            observe=watched.append,
            evaluator=scripted.evaluator(),
        )
        missed = [event for event in watched if isinstance(event, Moved) and event.step is Step.MISSED]
        assert [event.ordinal[-2:] for event in missed] == [".2"] * len(missed)
        assert missed
        assert result.winner.verified


class TestAnswersFromFiles:
    def test_it_waits_judges_what_is_there_and_goes_on(self, tmp_path: Path) -> None:
        problem, answers, archive = scripted.write_problem(tmp_path), tmp_path / "answers", tmp_path / "a.db"

        def search() -> Result:
            models = [f"file/{answers}"]
            return treesearch.search(
                problem,
                models=models,
                rounds=1,
                ideas=1,
                implementations=1,
                beam=2,
                archive=archive,
                evaluator=scripted.evaluator(),
            )

        with pytest.raises(Waiting) as first:
            search()
        assert len(first.value.pending) == 2
        assert all(Path(line.replace(".answer.", ".prompt.")).exists() for line in first.value.pending)

        scripted.write_answers(answers, first.value.pending[:1])
        with pytest.raises(Waiting) as second:
            search()
        assert second.value.pending == first.value.pending[1:]
        with Archive(archive) as store:
            run = store.latest_run()
            assert run is not None
            assert [entry.verified for entry in store.entries(run.id)] == [True], "an answer that is there is judged"

        scripted.write_answers(answers)
        for _ in range(2):  # for the idea, then for its kernel
            with pytest.raises(Waiting, match="1 answer is due"):
                search()
            assert scripted.write_answers(answers) == 1
        result = search()
        assert result.run.id == run.id
        assert len(result.lineage.entries) == 3


class TestModelsThatHelpNobody:
    @pytest.mark.parametrize(
        "said", ["I would rather not.", "", "```json\n[]\n```", "```cpp\nint main() {}\n```", "\x00\ud800 {" * 99]
    )
    def test_a_search_without_one_usable_answer_says_so(self, tmp_path: Path, said: str) -> None:
        problem = scripted.write_problem(tmp_path)
        with ScriptedEndpoint(lambda prompt: said or " ") as endpoint:
            options = ModelOptions(api_base=endpoint.base_url, attempts=1)
            search = partial(
                treesearch.search,
                problem,
                models=["openai/s"],
                archive=tmp_path / "a.db",
                options=options,
                beam=1,
                evaluator=scripted.evaluator(),
            )
            if not said:
                with pytest.raises(ModelUnavailable, match="empty answer"):
                    search()
                return
            with pytest.raises(NoUsableAnswer, match="Not one of 2 answers"):
                search()
        with Archive(tmp_path / "a.db") as store:
            run = store.latest_run()
            assert run is not None
            assert len(store.answers(run.id)) == 2, "one to the question, one to the request for a repair"

    def test_kernels_that_never_become_right_end_the_search_with_their_tally(self, tmp_path: Path) -> None:
        problem = scripted.write_problem(tmp_path)
        with ScriptedEndpoint(lambda prompt: scripted.fenced(scripted.source(scripted.BROKEN))) as endpoint:
            options = ModelOptions(api_base=endpoint.base_url)
            with pytest.raises(NoUsableAnswer, match="No kernel was verified: 4 build_failed"):
                treesearch.search(
                    problem,
                    models=["openai/s"],
                    archive=tmp_path / "a.db",
                    options=options,
                    beam=1,
                    rounds=1,
                    evaluator=scripted.evaluator(),
                )

    def test_ideas_that_cannot_be_read_are_asked_for_once_more(self, tmp_path: Path) -> None:
        problem, ideas = scripted.write_problem(tmp_path), list[str]()

        def reply(prompt: str) -> str:
            if not scripted.is_ideas(prompt):
                return scripted.right(prompt)
            ideas.append(prompt)
            return "None occurs to me."

        with ScriptedEndpoint(reply) as endpoint:
            options = ModelOptions(api_base=endpoint.base_url)
            with pytest.raises(NoUsableAnswer, match="no round brought a usable idea"):
                treesearch.search(
                    problem,
                    models=["openai/s"],
                    archive=tmp_path / "a.db",
                    options=options,
                    beam=1,
                    rounds=1,
                    evaluator=scripted.evaluator(),
                )
        assert len(ideas) == 2

    def test_a_round_without_ideas_does_not_lose_the_search(self, tmp_path: Path) -> None:
        problem, asked = scripted.write_problem(tmp_path), list[str]()

        def reply(prompt: str) -> str:
            if not scripted.is_ideas(prompt):
                return scripted.right(prompt)
            asked.append(prompt)
            return scripted.right(prompt) if len(asked) == 1 else "None occurs to me."

        with ScriptedEndpoint(reply) as endpoint:
            options = ModelOptions(api_base=endpoint.base_url)
            result = treesearch.search(
                problem,
                models=["openai/s"],
                archive=tmp_path / "a.db",
                options=options,
                beam=1,
                rounds=2,
                ideas=1,
                implementations=1,
                evaluator=scripted.evaluator(),
            )
        assert result.run.state is RunState.DONE
        assert [entry.kernel.round for entry in result.lineage.entries] == [0, 1]
        assert len(asked) == 3, "the second round's question was put twice"
