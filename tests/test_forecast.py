"""What a search would take, told without asking anything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import treesearch
from tests.steps import scripted
from treesearch import api, resources
from treesearch.archive import Archive
from treesearch.forecast import Estimate
from treesearch.meter import CHARACTERS_PER_TOKEN
from treesearch.models import ModelOptions
from treesearch.records import Price, Sampling, Stage
from treesearch.testing import HttpReply, ScriptedEndpoint

MODEL = "openai/scripted"
PRICE = Price(MODEL, 2.0, 10.0)
COUNTS: dict[str, Any] = {"rounds": 2, "ideas": 3, "implementations": 2, "beam": 2, "repairs": 0}


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    with scripted.settings():
        yield


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    return scripted.write_problem(tmp_path)


def part(found: Estimate, stage: Stage) -> tuple[int, int, int]:
    return next((one.questions, one.input_tokens, one.output_tokens) for one in found.parts if one.stage is stage)


def test_questions_are_those_of_the_configuration(problem: Path, tmp_path: Path) -> None:
    found = treesearch.estimate(problem, models=[MODEL], archive=tmp_path / "a.db", **COUNTS)
    assert part(found, Stage.IDEAS)[0] == 2 * 2
    assert part(found, Stage.KERNEL)[0] == found.evaluations == 2 + 2 * 3 * 2
    assert part(found, Stage.REPAIR)[0] == 0
    assert treesearch.estimate(problem, models=[MODEL], rounds=0, beam=1, repairs=0).evaluations == 1
    assert not (tmp_path / "a.db").exists()


def test_prompts_are_rendered_and_answers_as_long_as_recorded_ones(problem: Path, tmp_path: Path) -> None:
    """An archive with two answers of this model counts, not what others have answered."""
    archive = tmp_path / "a.db"
    with ScriptedEndpoint(lambda prompt: HttpReply(scripted.right(prompt), usage=(500, 1234))) as endpoint:
        result = api.search(
            problem,
            models=[MODEL],
            rounds=0,
            beam=2,
            archive=archive,
            options=ModelOptions(api_base=endpoint.base_url),
            evaluator=scripted.evaluator(),
        )
        found = api.estimate(problem, models=[MODEL], archive=archive, prices=[PRICE], **COUNTS)
        assert len(endpoint.calls) == 2, "an estimate asks nothing"
    with Archive(archive) as store:
        assert [run.id for run in store.runs()] == [result.run.id], "and stores nothing"
    _, read, written = part(found, Stage.KERNEL)
    shortest = min(len(call.prompt) for call in endpoint.calls) / CHARACTERS_PER_TOKEN
    assert read > shortest
    assert written == 1234
    assert found.recorded == 2
    assert found.cost_usd == pytest.approx(PRICE.of(found.input_tokens, found.output_tokens))


def test_no_answer_is_longer_than_it_may_be(problem: Path) -> None:
    found = treesearch.estimate(problem, models=[MODEL], sampling=Sampling(max_tokens=77))
    assert {one.output_tokens for one in found.parts} == {77}


def test_models_share_the_questions_and_one_without_a_price_leaves_the_cost_open(problem: Path) -> None:
    both: dict[str, Any] = {"models": [MODEL, "openai/other"], "rounds": 0, "repairs": 0}
    known = treesearch.estimate(problem, prices=[PRICE, Price("openai/other", 0.0, 0.0)], **both)
    assert known.cost_usd == pytest.approx(PRICE.of(known.input_tokens, known.output_tokens) / 2)
    unknown = treesearch.estimate(problem, prices=[PRICE], **both)
    assert (unknown.cost_usd, unknown.unpriced) == (None, ("openai/other",))


def test_a_model_answers_as_many_questions_as_its_role_and_its_weight_say(problem: Path) -> None:
    listed = [PRICE, Price("openai/other", 0.0, 0.0)]
    settings: dict[str, Any] = {"rounds": 1, "repairs": 0, "prices": listed}
    whole = treesearch.estimate(problem, models=[MODEL], **settings)
    most = treesearch.estimate(problem, models=[f"{MODEL}=3", "openai/other"], **settings)
    assert most.cost_usd == pytest.approx(0.75 * PRICE.of(whole.input_tokens, whole.output_tokens))
    ideas = treesearch.estimate(problem, idea_models=[MODEL], code_models=["openai/other"], **settings)
    [part] = [part for part in ideas.parts if part.stage is Stage.IDEAS]
    assert ideas.cost_usd == pytest.approx(part.questions * PRICE.of(part.input_tokens, part.output_tokens))


def test_a_replay_takes_no_tokens_and_no_money() -> None:
    found = treesearch.estimate("softmax_small", models=["replay/"])
    assert (found.input_tokens, found.output_tokens, found.cost_usd, found.asking_minutes) == (0, 0, 0.0, 0.0)
    assert found.evaluations > 0


def test_it_rests_on_searches_in_the_same_language_where_there_are_any() -> None:
    with Archive(resources.record(), read_only=True) as record:
        of = {
            language: (record.answer_sizes(language), record.verdict_seconds(language)) for language in ("cpp", "cuda")
        }
        assert not record.answer_sizes("module")
        assert not record.verdict_seconds("module")
        everything = len(record.answer_sizes()), len(record.verdict_seconds())
    assert everything == tuple(map(sum, zip(*(map(len, found) for found in of.values()), strict=True)))
    assert treesearch.estimate("softmax_small", models=[MODEL]).recorded == len(of["cpp"][0]) > 0
    assert treesearch.estimate("softmax_small", models=[MODEL], language="module").recorded == everything[0]


@pytest.mark.parametrize("name", ["softmax_small", "layernorm"])
def test_prompts_of_every_stage_have_a_length(name: str) -> None:
    found = treesearch.estimate(name, models=[MODEL])
    lengths = {one.stage: one.input_tokens for one in found.parts}
    assert lengths[Stage.IDEAS] > 1000
    assert lengths[Stage.KERNEL] > 1000
    assert lengths[Stage.REPAIR] > 1000


class TestOnTheCommandLine:
    def test_a_dry_run_says_what_a_search_would_take_and_leaves_nothing_behind(
        self, problem: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "treesearch.toml").write_text(f'[prices."{MODEL}"]\ninput = 2\noutput = 10\n')
        words = ("run", problem, "--model", MODEL, "--rounds", 1, "--dry-run")
        done = scripted.typed(*words, "--budget-usd", 0.01, "--max-evaluations", 10, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "about $1." in done.stdout
        assert "the limit of 10 evaluations ends it after about 3" in done.stdout
        assert "the limit of 0.01 usd ends it after about" in done.stdout
        found = json.loads(scripted.typed(*words, "--json", cwd=tmp_path).stdout)
        assert found["cost_usd"] > 0
        assert [one["stage"] for one in found["parts"]] == ["ideas", "kernel", "repair"]
        assert sorted(path.name for path in tmp_path.iterdir()) == ["scaled_relu.py", "treesearch.toml"]

    def test_what_has_no_price_is_called_unpriced(self, problem: Path, tmp_path: Path) -> None:
        done = scripted.typed("run", problem, "--model", MODEL, "--dry-run", cwd=tmp_path)
        assert f"about an unknown cost: {MODEL} unpriced" in done.stdout
