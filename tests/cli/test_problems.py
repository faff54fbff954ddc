"""`treesearch problems check`: the table of wrong kernels, for one problem and for several."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.steps import scripted
from treesearch.evaluation import inputs

SOURCE = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return FORMULA

def get_inputs():
    return [torch.randn(32, 64)]

def get_init_inputs():
    return []
"""


def written(folder: Path, name: str, formula: str) -> Path:
    path = folder / f"{name}.py"
    path.write_text(SOURCE.replace("FORMULA", formula))
    return path


def test_a_table_says_what_rejected_each_mutant_and_what_allclose_would_have_done(tmp_path: Path) -> None:
    small = written(tmp_path, "small", "torch.tanh(x) * 1e-3")
    done = scripted.typed("problems", "check", small, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = {line.split("  ")[0]: line.split() for line in done.stdout.splitlines()}
    assert rows["zeros"][1:] == ["rejected", "rows", "nominal", "lets", "it", "pass"]
    assert rows["ones"][1:] == ["rejected", "rows", "nominal", "rejects", "it"]
    assert "x_numel = 2048" in done.stdout
    assert "small: rejected 16 of 16; allclose(1e-2) would have let " in done.stdout
    assert "through: zeros, negated" in done.stdout


def test_several_problems_are_checked_in_turn_and_one_that_passes_fails_them_all(tmp_path: Path) -> None:
    sound, hollow = written(tmp_path, "sound", "torch.tanh(x)"), written(tmp_path, "hollow", "x * 0")
    done = scripted.typed("problems", "check", hollow, sound, cwd=tmp_path)
    assert done.returncode == 2
    assert "hollow does not discriminate: zeros" in done.stderr
    assert "sound does not" not in done.stderr
    assert "PASSED" in done.stdout
    assert "sound: rejected 16 of 16" in done.stdout


def test_json_is_an_object_for_one_problem_and_a_list_for_more(tmp_path: Path) -> None:
    one, two = written(tmp_path, "one", "torch.tanh(x)"), written(tmp_path, "two", "x.clone()")
    alone = json.loads(scripted.typed("problems", "check", one, "--json", cwd=tmp_path).stdout)
    both = json.loads(scripted.typed("problems", "check", one, two, "--json", cwd=tmp_path).stdout)
    assert both[0] == alone
    assert both[1]["right_by_nature"] == ["the input x"]
    assert set(alone["mutants"].values()) == {"rejected"}
    assert {each["mutant"] for each in alone["verdicts"]} == alone["mutants"].keys()
    assert alone["verdicts"][0] == {
        "mutant": "zeros",
        "rejected": True,
        "by": "rows",
        "stratum": "nominal",
        "allclose_passes": False,
    }


def test_problems_too_large_for_the_machine_are_named_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = written(tmp_path, "one", "torch.tanh(x)"), written(tmp_path, "two", "x.clone()")
    monkeypatch.setattr(inputs, "FEWEST_HELD", 10**12)
    done = scripted.typed("problems", "check", one, two, "--json", cwd=tmp_path)
    assert done.returncode == 1
    assert json.loads(done.stdout) == []
    assert done.stderr.count("was not checked. Judging") == 2
