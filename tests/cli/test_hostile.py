"""Whatever models, compilers and files wrote reaches a terminal as text: nothing in it is obeyed."""

from __future__ import annotations

import json
import unicodedata

import pytest
from click.testing import CliRunner

from tests import hostile
from tests.hostile import Hostile
from treesearch.cli import treesearch

OBEYED = ("Cc", "Cf", "Cs", "Co")
"""Categories of characters that a terminal acts upon."""


@pytest.fixture(scope="module")
def harmful(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    return hostile.fill(tmp_path_factory.mktemp("hostile") / "archive.db")


LOOKS = {
    "show RUN": "show {run}",
    "show KERNEL": "show {fastest}",
    "show, cleared": "show {cleared}",
    "show, failed": "show {failed}",
    "show --prompt": "show {fastest} --prompt",
    "show --answer": "show {fastest} --answer",
    "show --builds": "show {fastest} --builds",
    "show --profile": "show {fastest} --profile",
    "trajectory": "trajectory {run}",
    "trajectory --markdown": "trajectory {run} --markdown",
    "tree": "tree {run}",
    "log": "log {fastest}",
    "log, cleared": "log {cleared}",
    "log, failed": "log {failed} --full",
    "diff": "diff {fastest}",
    "diff of two": "diff {fastest} {failed}",
    "compare": "compare {run} {other}",
    "search": "search alert",
}
TEXTS = {"show --prompt", "show --answer", "show --builds", "show --profile", "trajectory --markdown"}
"""Looks that print one text as it is, which is no JSON."""


def said(harmful: Hostile, look: str, *more: str) -> str:
    fastest, cleared, _, failed = harmful.kernels
    names = {"run": harmful.run, "other": harmful.other, "fastest": fastest, "cleared": cleared, "failed": failed}
    words = [*LOOKS[look].format(**names).split(), "--archive", str(harmful.path), *more]
    done = CliRunner().invoke(treesearch, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def obeyed(text: str) -> set[str]:
    return {one for one in text if one not in "\n\t" and unicodedata.category(one) in OBEYED}


@pytest.mark.parametrize("look", LOOKS)
def test_nothing_that_a_terminal_would_obey_is_printed(harmful: Hostile, look: str) -> None:
    found = said(harmful, look)
    assert "alert(1)" in found, "what means harm is shown"
    assert not obeyed(found)


@pytest.mark.parametrize("look", sorted(LOOKS.keys() - TEXTS))
def test_json_holds_it_escaped(harmful: Hostile, look: str) -> None:
    found = said(harmful, look, "--json")
    assert "alert(1)" in json.dumps(json.loads(found))
    assert not obeyed(found)
