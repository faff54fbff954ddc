"""The examples run as they are, from anywhere, without a key."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SAYS = {
    "by_hand.py": "× the better baseline",
    "custom_policy.py": "round 0:",
    "read_archive.py": "ideas paid, median",
}


def test_every_script_is_tried() -> None:
    assert {script.name for script in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.compiler
@pytest.mark.untimed
@pytest.mark.parametrize("script", SAYS)
def test_an_example_runs_and_ends_with_something_to_look_at(script: str, tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / script)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert SAYS[script] in done.stdout
