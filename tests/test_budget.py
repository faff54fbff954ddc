"""A search that ends at a limit of its budget or at a goal, and the same search with a larger budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import treesearch
from tests.steps import scripted
from treesearch import problem
from treesearch.api import Result
from treesearch.archive import Archive
from treesearch.errors import NoUsableAnswer, UsageError, Waiting
from treesearch.evaluation.target import HERE, Here
from treesearch.events import BudgetUsed, Event, Moved, Step, Stopped
from treesearch.models import ModelOptions
from treesearch.records import Budget, Category, Decision, Idea, Price, RunState, Sampling, Spending
from treesearch.roofline import floor
from treesearch.steps import decide
from treesearch.testing import HttpReply, ScriptedEndpoint, ScriptedEvaluator

MODELS = ("openai/one", "openai/other")
WRITTEN = 1000
PRICES = tuple(Price(model, 0.0, 200.0) for model in MODELS)
"""An answer, of WRITTEN tokens, costs $0.20."""


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    with scripted.settings():
        yield


@dataclass
class Bench:
    """A search of two models in a folder, judged by a script."""

    folder: Path
    endpoint: ScriptedEndpoint
    events: list[Event] = field(default_factory=list)

    def search(
        self,
        budget: Budget,
        *,
        rounds: int = 1,
        prices: tuple[Price, ...] = PRICES,
        verdict: Callable[[str], float] = lambda source: 0.1,
        here: Here = HERE,
    ) -> Result:
        self.events.clear()
        return treesearch.search(
            scripted.write_problem(self.folder),
            models=MODELS,
            rounds=rounds,
            ideas=2,
            implementations=1,
            beam=2,
            sampling=Sampling(max_tokens=WRITTEN),
            options=ModelOptions(api_base=self.endpoint.base_url),
            budget=budget,
            prices=prices,
            archive=self.folder / "a.db",
            evaluator=ScriptedEvaluator(verdict),
            observe=self.events.append,
            here=here,
        )

    def spent(self, result: Result) -> Spending:
        with Archive(self.folder / "a.db") as store:
            return store.spend(result.run.id)

    def add(self, result: Result) -> Decision:
        """Have an idea of a person's tried next."""
        with Archive(self.folder / "a.db") as store:
            return decide.add(store, result.run, Idea("Own", Category.COMPUTE, "What no model says.", 1.1, "")).decision

    def rounds(self, result: Result) -> int:
        """How many rounds began after the first kernels."""
        with Archive(self.folder / "a.db") as store:
            return len(store.rounds(result.run.id)) - 1


def reply(prompt: str) -> HttpReply:
    """After a moment, so that questions of one round are in flight together."""
    return HttpReply(scripted.right(prompt), usage=(500, WRITTEN), delay_seconds=0.1)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with ScriptedEndpoint(reply) as endpoint:
        yield Bench(tmp_path, endpoint)


class TestMoney:
    def test_a_run_stops_at_its_budget_and_goes_on_with_a_larger_one(self, bench: Bench) -> None:
        """Two first kernels take $0.40 and two questions about ideas $0.40 more; then another may cost $0.20."""
        first = bench.search(Budget(usd=0.9))
        assert first.run.state is RunState.STOPPED
        assert first.run.stopped == "$0.80 of $0.90 are used, and the next question may take $0.20"
        assert bench.spent(first) == Spending(4, 0, 2000, 4000, 0.8)
        assert first.winner.verified
        assert {str(call.parameters["model"]) for call in bench.endpoint.calls} == {"one", "other"}
        assert Stopped(first.run.stopped) in bench.events
        assert [event.words[:4] for event in bench.events if isinstance(event, BudgetUsed)][-1] == "89 %"

        again = bench.search(Budget(usd=0.9))
        assert (again.run, again.lineage.entries) == (first.run, first.lineage.entries)
        assert len(bench.endpoint.calls) == 4, "what was spent before counts, so nothing is asked"

        more = bench.search(Budget(usd=2.0))
        assert (more.run.id, more.run.state, more.run.stopped) == (first.run.id, RunState.DONE, "")
        assert more.run.config.budget == Budget(usd=2.0)
        spent = bench.spent(more)
        assert spent.answers == len(bench.endpoint.calls) == 6
        assert spent.cost_usd == pytest.approx(1.2)
        assert set(first.lineage.entries) < set(more.lineage.entries)

    def test_a_round_that_a_limit_cuts_short_keeps_the_answers_that_were_in_flight(self, bench: Bench) -> None:
        """Of two first kernels, one can be paid for."""
        result = bench.search(Budget(usd=0.3))
        assert len(result.lineage.entries) == len(bench.endpoint.calls) == 1
        left_out = [event for event in bench.events if isinstance(event, Moved) and event.step is Step.LEFT_OUT]
        assert len(left_out) == 1
        assert len(bench.search(Budget(usd=0.5)).lineage.entries) == 2

    def test_a_budget_that_allows_no_question_fails_with_the_reason(self, bench: Bench) -> None:
        with pytest.raises(NoUsableAnswer, match=r"may take \$0.20. The same command with a larger budget goes on"):
            bench.search(Budget(usd=0.1))
        assert not bench.endpoint.calls

    def test_a_budget_in_dollars_is_refused_where_a_price_is_not_known(self, bench: Bench) -> None:
        with pytest.raises(UsageError, match="that of openai/other is not known"):
            bench.search(Budget(usd=1.0), prices=PRICES[:1])
        assert not (bench.folder / "a.db").exists()

    def test_a_budget_in_tokens_needs_no_price_and_what_it_bought_is_unpriced(self, bench: Bench) -> None:
        result = bench.search(Budget(tokens=100_000), rounds=0, prices=())
        assert bench.spent(result) == Spending(2, 2, 1000, 2000, None)


class TestEvaluations:
    def test_as_many_kernels_are_judged_as_are_allowed(self, bench: Bench) -> None:
        result = bench.search(Budget(evaluations=1))
        assert len(result.lineage.entries) == 1
        assert result.run.stopped == "1 of 1 evaluations are used"
        assert len(bench.search(Budget(evaluations=2)).lineage.entries) == 2

    def test_answers_that_are_due_from_outside_keep_their_places(self, bench: Bench) -> None:
        answers = bench.folder / "answers"
        with pytest.raises(Waiting) as waiting:
            treesearch.search(
                scripted.write_problem(bench.folder),
                models=[f"file/{answers}"],
                budget=Budget(evaluations=3),
                beam=8,
                archive=bench.folder / "a.db",
                evaluator=scripted.evaluator(),
            )
        assert len(waiting.value.pending) == 3
        assert len(list(answers.glob("*.prompt.md"))) == 3


class TestGoals:
    def test_no_round_begins_once_the_winner_is_fast_enough(self, bench: Bench) -> None:
        """Eager takes 1 ms."""
        result = bench.search(Budget(speedup=9.0), rounds=3)
        assert result.run.stopped == "the winner is at least 10.00× as fast as torch, and 9× was the goal"
        assert bench.rounds(result) == 0
        assert bench.rounds(bench.search(Budget(speedup=11.0))) == 1

    def test_no_round_begins_once_the_winner_is_near_the_floor(self, bench: Bench) -> None:
        cpu = HERE.of_kind("cpu")
        measured = replace(cpu, bandwidth=1e9, rates=())
        subject = problem.load(str(scripted.write_problem(bench.folder)))
        bound = floor(subject, measured)
        assert bound is not None
        time = bound.milliseconds / 0.6
        result = bench.search(Budget(floor=0.5), rounds=3, verdict=lambda source: time, here=Here((measured,)))
        assert result.run.stopped == "the winner has 60% of the floor's speed, and 50% was the goal"
        assert bench.rounds(result) == 0

    def test_a_share_of_a_floor_that_nobody_knows_is_refused(self, bench: Bench) -> None:
        unknown = replace(HERE.of_kind("cpu"), bandwidth=None, rates=())
        with pytest.raises(UsageError, match="never measured"):
            bench.search(Budget(floor=0.5), here=Here((unknown,)))

    def test_patience_counts_rounds_without_a_clear_gain(self, bench: Bench) -> None:
        result = bench.search(Budget(patience=1), rounds=3)
        assert result.run.stopped == "1 round brought no clear gain"
        assert bench.rounds(result) == 1

    def test_an_idea_that_a_person_added_is_tried_before_patience_runs_out(self, bench: Bench) -> None:
        first = bench.search(Budget(patience=1), rounds=4)
        before, added = bench.rounds(first), bench.add(first)
        again = bench.search(Budget(patience=1), rounds=4)
        assert bench.rounds(again) == before + 1
        assert added.idea in [entry.kernel.idea for entry in again.lineage.entries]
        assert again.run.stopped == first.run.stopped == "1 round brought no clear gain"

    def test_a_goal_that_is_reached_leaves_an_added_idea_untried(self, bench: Bench) -> None:
        goal = Budget(speedup=2.0)
        added = bench.add(bench.search(goal))
        again = bench.search(goal)
        assert bench.rounds(again) == 0
        tried = bench.search(Budget(speedup=20.0))
        assert added.idea in [entry.kernel.idea for entry in tried.lineage.entries]

    def test_patience_begins_anew_with_each_clear_gain(self, bench: Bench) -> None:
        """Every kernel takes half the time of the one before."""
        times: dict[str, float] = {}
        result = bench.search(
            Budget(patience=1), rounds=2, verdict=lambda source: times.setdefault(source, 0.5 ** len(times))
        )
        assert result.run.state is RunState.DONE
        assert bench.rounds(result) == 2
