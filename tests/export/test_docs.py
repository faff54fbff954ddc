"""docs/export.md: its command is run, and what it shows of Python works on what the command wrote."""

from __future__ import annotations

import json
import re
import shlex
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.steps import scripted
from treesearch.export.formats import FORMATS

DOCUMENT = (Path(__file__).resolve().parent.parent.parent / "docs" / "export.md").read_text()
SHOWN = re.findall(r"^\$ treesearch (.+)$", DOCUMENT, re.MULTILINE)


@pytest.mark.compiler
def test_the_documents_command_and_what_it_says_of_python_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [command] = SHOWN
    done = scripted.typed(*shlex.split(command), cwd=tmp_path)
    verdict = "suspect" if "suspect" in done.stderr else "verified"
    assert verdict == "verified"
    assert done.returncode == 0, done.stderr
    shown = [line for line in DOCUMENT.splitlines() if line.startswith(("Wrote ", "  from ", "  pytest "))]
    assert [re.sub(r"[\d.]+ ms", "…", line) for line in done.stdout.splitlines()] == [
        re.sub(r"[\d.]+ ms", "…", line) for line in shown
    ]
    manifest = json.loads((tmp_path / "softmax_small" / "manifest.json").read_text())
    assert (manifest["verified_now"], manifest["human_reviewed"]) == (True, False)
    [snippet] = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    monkeypatch.syspath_prepend(tmp_path / "softmax_small")
    told: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, while it compiles
        exec(snippet.replace("fullgraph=True", "fullgraph=True, backend='aot_eager'"), told)
    torch.testing.assert_close(told["out"].sum(1), torch.ones(len(told["out"])))


def test_every_format_is_in_the_document() -> None:
    assert all(f"## `{name}`" in DOCUMENT for name in FORMATS)
