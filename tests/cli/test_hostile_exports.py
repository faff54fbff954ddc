"""What models wrote is data in whatever an export writes: a string, never code beside it."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests import hostile
from tests.cli.test_hostile import obeyed
from tests.hostile import Hostile
from treesearch.cli import treesearch
from treesearch.cli.export import FORMATS

AS_JUDGED = (".cu", ".cpp", ".so")
"""A kernel's own source, which is left as it is, and what a compiler made of it."""


@pytest.fixture(scope="module")
def harmful(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    return hostile.fill(tmp_path_factory.mktemp("hostile") / "archive.db")


def exported(harmful: Hostile, form: str, folder: Path) -> str:
    words = ["export", harmful.run, "--format", form, "-o", str(folder), "--archive", str(harmful.path)]
    done = CliRunner().invoke(treesearch, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def code(tree: ast.AST) -> Iterator[str]:
    """The names that code uses or defines, which is what text becomes that breaks out of its string."""
    for node in ast.walk(tree):
        yield from (value for _, value in ast.iter_fields(node) if isinstance(value, str) and not _is_text(node))


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant)


@pytest.mark.nvcc
@pytest.mark.parametrize("form", FORMATS)
def test_what_means_harm_stays_text_in_an_export(harmful: Hostile, form: str, tmp_path: Path) -> None:
    printed = exported(harmful, form, tmp_path / "out")
    assert not obeyed(printed)
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file() and path.suffix not in AS_JUDGED]
    written = {path.name: path.read_text(encoding="utf-8") for path in files}
    assert any("alert(1)" in text for text in written.values())
    for name, text in written.items():
        assert not obeyed(text), name
        if name.endswith(".py"):
            assert not {"SystemExit", "harm", "alert"} & set(code(ast.parse(text))), name
        if name.endswith(".json"):
            json.loads(text)
        if name.endswith(".jsonl"):
            assert all(map(json.loads, text.splitlines())), name
    assert all(path.resolve().is_relative_to(tmp_path / "out") for path in files)
