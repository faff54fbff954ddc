"""The README's commands are real: each is run, or at least parsed where it needs a key or a fresh machine."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from benchmarks import findings
from tests.test_record import RECORDED
from treesearch import resources
from treesearch.archive import Archive
from treesearch.cli import treesearch
from treesearch.languages import CUDA
from treesearch.view import results

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
TOOL = Path(sys.executable).with_name("treesearch")

BLOCKS = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
COMMANDS = [line[2:] for block in BLOCKS for line in block.splitlines() if line.startswith("$ treesearch ")]
ELSEWHERE = ("treesearch audit", "treesearch serve")
"""What the audit runs, tests/test_audit.py runs in parts; a server runs until tests/pages/test_serve.py ends it."""
LIVE = [command for command in COMMANDS if "--model" not in command and command not in ELSEWHERE]
"""Those that need no model."""


def _timing(command: str) -> pytest.MarkDecorator:
    """`evaluate` fails where a kernel is not verified; no other command judges one."""
    return pytest.mark.timed if command.split()[1] == "evaluate" else pytest.mark.untimed


def test_the_readme_shows_every_command() -> None:
    shown = {command.split()[1] for command in COMMANDS}
    assert {"run", "show", "trajectory", "problems", "evaluate", "doctor"} <= shown


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_readme_parse(command: str) -> None:
    """Unknown commands, options and missing arguments fail here, also where the command itself needs a key."""
    name, *arguments = shlex.split(command)[1:]
    found = treesearch.get_command(click.Context(treesearch), name)
    assert found is not None
    found.make_context(name, arguments)


@pytest.mark.compiler
@pytest.mark.parametrize("command", [pytest.param(command, marks=_timing(command)) for command in LIVE])
def test_commands_of_the_readme_run(command: str) -> None:
    arguments = shlex.split(command)[1:]
    done = subprocess.run([TOOL, *arguments], cwd=ROOT, capture_output=True, text=True, env=os.environ, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert "Traceback" not in done.stderr


def test_links_of_the_documents_lead_somewhere() -> None:
    for document in ROOT.glob("*.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            assert target.startswith("https://") or (ROOT / target).exists(), f"{document.name}: {target}"


def test_make_targets_of_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"`?make (\w+)", README)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def printed(*words: str) -> str:
    done = CliRunner().invoke(treesearch, [*words, "--archive", str(resources.record())])
    assert done.exit_code == 0
    return done.output


def test_recorded_lines_are_those_of_the_record() -> None:
    document = (ROOT / "docs" / "recorded.md").read_text()
    with Archive(resources.record(), read_only=True) as record:
        runs = record.runs()
    assert len(runs) == document.count("\n### ")
    for run in runs:
        assert printed("trajectory", run.id, "--markdown").strip() in document


def test_the_findings_show_the_tables_of_the_searches_on_the_h100() -> None:
    document = (ROOT / "docs" / "findings.md").read_text()
    with Archive(resources.record(), read_only=True) as record:
        ids = [run.id for run in record.runs() if run.config.language == CUDA.name]
    assert findings.report(findings.read([], ids)).strip() in document
    for picture in re.findall(r"\]\((findings/[^)]+)\)", document):
        assert (ROOT / "docs" / picture).exists()


def test_the_story_of_conv2d_is_the_records() -> None:
    assert printed("trajectory", "conv2d", "--story") == (ROOT / "docs" / "conv2d.md").read_text()


def test_the_table_of_results_is_the_records() -> None:
    with Archive(resources.record(), read_only=True) as record:
        found = [result for result in (results.of(store, run) for store, run in results.newest([record])) if result]
    assert results.markdown(found) in README
    assert {result.run.problem_name for result in found} == {name for name, _ in RECORDED}
