"""Settings from flags, variables and treesearch.toml: which one holds, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.steps import scripted
from treesearch import languages, policies
from treesearch.cli.settings import LANGUAGES, POLICIES, SETTINGS

FILE = """
model = ["openai/scripted", "openai/gpt-5.1"]
rounds = 3
beam = 2
wait = true
budget_usd = 1.5

[prices."openai/scripted"]
input = 1.25
output = 10
"""


def config(folder: Path, *words: object, **variables: str) -> dict[str, Any]:
    done = scripted.typed("config", "--json", *words, cwd=folder, **variables)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def setting(found: dict[str, Any], name: str) -> tuple[object, str]:
    return found["settings"][name]["value"], found["settings"][name]["source"]


def refused(folder: Path, text: str, *words: object, **variables: str) -> str:
    """What is said of a settings file, with exit code 2."""
    (folder / "treesearch.toml").write_text(text)
    done = scripted.typed("config", *words, cwd=folder, **variables)
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


class TestWhichOneHolds:
    def test_a_flag_comes_before_a_variable_a_variable_before_the_file_and_the_file_before_the_default(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "treesearch.toml").write_text(FILE)
        found = config(tmp_path, "--rounds", 1, TREESEARCH_ROUNDS="2", TREESEARCH_BEAM="7")
        assert setting(found, "rounds") == (1, "--rounds")
        assert setting(found, "beam") == (7, "TREESEARCH_BEAM")
        assert setting(found, "wait") == (True, "treesearch.toml")
        assert setting(found, "budget_usd") == (1.5, "treesearch.toml")
        assert setting(found, "policy") == ("diverse", "default")
        assert setting(found, "patience") == (None, "default")

    def test_another_file_can_be_named(self, tmp_path: Path) -> None:
        (tmp_path / "treesearch.toml").write_text("rounds = 3")
        (tmp_path / "other.toml").write_text('model = "openai/gpt-5.1"')
        found = config(tmp_path, "--config", "other.toml")
        assert setting(found, "rounds") == (None, "default")
        assert setting(found, "model") == (["openai/gpt-5.1"], "other.toml")
        assert setting(config(tmp_path, TREESEARCH_CONFIG="other.toml"), "model")[1] == "other.toml"

    def test_every_setting_is_shown_with_what_leaving_it_out_means(self, tmp_path: Path) -> None:
        (tmp_path / "treesearch.toml").write_text(FILE)
        done = scripted.typed("config", cwd=tmp_path)
        rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
        assert {one.key for one in SETTINGS} < rows.keys()
        assert rows["ideas"] == ["8", "default"]
        assert rows["patience"] == ["none", "default"]
        assert rows["rounds"] == ["3", "treesearch.toml"]

    def test_a_search_takes_its_settings_from_the_file(self, tmp_path: Path) -> None:
        """So little money that it ends before anything is asked."""
        (tmp_path / "treesearch.toml").write_text(FILE.replace("1.5", "0.00001"))
        problem = scripted.write_problem(tmp_path)
        done = scripted.typed("run", problem, "--model", "openai/scripted", cwd=tmp_path, OPENAI_API_KEY="dummy")
        assert done.returncode == 1
        assert "models: openai/scripted\n" in done.stderr
        assert "round 0 of 3" in done.stderr
        assert "stopped: $0.00 of $0.000010 are used" in done.stderr
        assert "with a larger budget goes on" in done.stderr.splitlines()[-1]


class TestPrices:
    def test_what_models_cost_is_shown_and_what_is_not_known_is_unpriced(self, tmp_path: Path) -> None:
        (tmp_path / "treesearch.toml").write_text(FILE)
        words = ("--model", "openai/gpt-5.1", "--model", "openai/unheard-of", "--model", "file/answers")
        prices = config(tmp_path, *words)["prices"]
        assert prices["openai/scripted"] == {"input": 1.25, "output": 10.0, "source": "treesearch.toml"}
        assert prices["openai/gpt-5.1"]["source"] == "list price"
        assert prices["openai/unheard-of"] is None
        assert prices["file/answers"] is None
        shown = scripted.typed("config", *words, cwd=tmp_path).stdout
        assert "price of openai/unheard-of  unpriced" in " ".join(shown.split("\n")).replace("   ", "  ")
        assert "$1.25 read, $10 written" in shown

    @pytest.mark.parametrize(
        ("table", "said"),
        [
            ("prices = 3", "a table for each model"),
            ('[prices]\n"openai/s" = 3', "openai/s needs input and output"),
            ('[prices."openai/s"]\ninput = 1', "openai/s needs input and output"),
            ('[prices."openai/s"]\ninput = 1\noutput = true', "openai/s needs input and output"),
            ('[prices."openai/s"]\ninput = 1\noutput = -1', "openai/s needs input and output"),
            ('[prices."openai/s"]\ninput = 1\noutpt = 1', "did you mean 'output'?"),
        ],
    )
    def test_a_price_that_is_none_is_refused(self, tmp_path: Path, table: str, said: str) -> None:
        assert said in refused(tmp_path, table)


class TestWhatIsRefused:
    def test_an_unknown_key_names_the_nearest_known_one(self, tmp_path: Path) -> None:
        said = refused(tmp_path, "budget_use = 3")
        assert said == (
            "Error: There is no setting 'budget_use', as named in treesearch.toml; did you mean 'budget_usd'?"
        )

    def test_a_key_like_no_other_names_them_all(self, tmp_path: Path) -> None:
        said = refused(tmp_path, "archive = 'x.db'")
        assert all(one.key in said for one in SETTINGS)

    @pytest.mark.parametrize(
        "line", ["rounds = 2.5", "rounds = -1", "rounds = true", "rounds = 'five'", "effort = 'huge'", "wait = 3.5"]
    )
    def test_a_value_that_does_not_fit_names_the_key_and_the_file(self, tmp_path: Path, line: str) -> None:
        said = refused(tmp_path, line)
        assert said.startswith(f"Error: Invalid value for {line.split()[0]} in treesearch.toml: ")

    @pytest.mark.parametrize("line", ["rounds = [1, 2]", "rounds = { a = 1 }", "model = [[1]]", "rounds = 2026-11-21"])
    def test_a_value_of_no_use_is_refused(self, tmp_path: Path, line: str) -> None:
        assert "must be one value" in refused(tmp_path, line)

    def test_a_variable_that_does_not_fit_is_named(self, tmp_path: Path) -> None:
        assert "Invalid value for TREESEARCH_ROUNDS: 'x'" in refused(tmp_path, "", TREESEARCH_ROUNDS="x")

    def test_a_flag_that_does_not_fit_is_named(self, tmp_path: Path) -> None:
        assert "Invalid value for '--rounds': 'x'" in refused(tmp_path, "", "--rounds", "x")

    @pytest.mark.parametrize("amount", ["nan", "inf"])
    def test_a_limit_that_is_no_amount_is_refused(self, tmp_path: Path, amount: str) -> None:
        assert "no finite number above zero" in refused(tmp_path, f"budget_usd = {amount}")

    def test_what_is_no_toml_is_refused(self, tmp_path: Path) -> None:
        assert "treesearch.toml is no TOML" in refused(tmp_path, "rounds: 3")

    def test_a_file_that_is_not_there_is_refused(self, tmp_path: Path) -> None:
        assert "Cannot read gone.toml" in refused(tmp_path, "", "--config", "gone.toml")


def test_flags_name_all_policies_and_languages_that_there_are() -> None:
    assert set(POLICIES) == set(policies.POLICIES)
    assert set(LANGUAGES) == {"auto", *languages.LANGUAGES}
