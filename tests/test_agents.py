"""docs/agents.md: its commands, run as they are, drive a search with whatever answers to `agent`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.steps import scripted
from treesearch.archive import Archive
from treesearch.records import Answer, Request, Status

pytestmark = [pytest.mark.compiler, pytest.mark.untimed]

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = re.findall(r"```bash\n(.*?)```", (ROOT / "docs" / "agents.md").read_text(), re.DOTALL)


def program(path: Path, script: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    """A folder with the problem, and an agent whose kernels do not build: nothing needs to be timed."""
    scripted.write_problem(tmp_path, "problem")
    (tmp_path / "reply").write_text(scripted.fenced(scripted.source(scripted.BROKEN)))
    program(tmp_path / "bin" / "agent", f'test "$1" = --print && cat > {tmp_path}/asked && cat {tmp_path}/reply')
    start = "from treesearch.cli import main; main()"
    program(tmp_path / "bin" / "treesearch", f"exec {sys.executable} -c '{start}' \"$@\"")
    return tmp_path


def run(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    path = f"{folder}/bin:{os.environ['PATH']}"
    variables = scripted.environment(PATH=path, PYTHONPATH=str(ROOT), TREESEARCH_CACHE=str(folder / "cache"))
    command = ["bash", "-c", script]
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False, timeout=300)


def asked(folder: Path) -> tuple[Request, Answer, Status]:
    """The only question of the search, its answer, and what came of it."""
    with Archive(folder / ".treesearch/archive.db", read_only=True) as store:
        found = store.latest_run()
        assert found is not None
        ((request, answer),) = store.answers(found.id)
        (entry,) = store.entries(found.id)
    assert entry.evaluation is not None
    return request, answer, entry.evaluation.status


def test_through_files(agent: Path) -> None:
    done = run(agent, SCRIPTS[0])
    request, answer, status = asked(agent)
    assert status is Status.BUILD_FAILED, done.stderr
    assert (answer.model, answer.answered_by, answer.help) == ("file/answers", "agent 1.0", "g++")
    assert (agent / "asked").read_text() == request.prompt
    assert "1 answer is due" in done.stderr
    assert "No kernel was verified: 1 build_failed" in done.stderr


def test_through_a_command(agent: Path) -> None:
    done = run(agent, SCRIPTS[1])
    request, answer, status = asked(agent)
    assert status is Status.BUILD_FAILED, done.stderr
    assert answer.model == "cmd/agent --print"
    assert (agent / "asked").read_text() == request.prompt
    assert done.returncode == 1


def test_the_document_has_no_other_script() -> None:
    assert len(SCRIPTS) == 2
