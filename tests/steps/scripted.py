"""A tiny problem, and answers about it that a scripted model or endpoint gives to any prompt of a search."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from treesearch.archive import Archive
from treesearch.cli import execute
from treesearch.records import Request, Status, digest
from treesearch.testing import Failing, ScriptedEvaluator

PROBLEM = '''"""Scaled ReLU, judged in a blink: small, and compiling its baseline takes no seconds."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(features) + 0.5)

    @torch.compiler.disable
    def forward(self, x):
        return torch.relu(x) * self.scale


def get_inputs():
    return [torch.randn(64, 256)]


def get_init_inputs():
    return [256]
'''

HEAD = '#include "problem.h"\n'
RIGHT = """extern "C" int launch(const float* x, const float* scale, float* out, void*) {
    for (int64_t i = 0; i < x_dim0; ++i)
        for (int64_t j = 0; j < x_dim1; ++j) {
            float v = x[i * x_dim1 + j];
            out[i * x_dim1 + j] = (v > 0 ? v : 0) * scale[j];
        }
    return 0;
}
"""
WRONG = """extern "C" int launch(const float*, const float*, float* out, void*) {
    for (int64_t i = 0; i < out_numel; ++i) out[i] = 0;
    return 0;
}
"""
BROKEN = 'extern "C" int launch(const float* x, const float* scale, float* out, void*) { return gone; }\n'

MECHANISMS = (
    ("Vectorize the columns with masks", "compute and instructions", "Wide registers hold sixteen columns apiece."),
    ("Prefetch upcoming rows early", "asynchrony and latency hiding", "Software hints hide the latency of DRAM."),
    ("Divide rows among OpenMP threads", "parallelism and occupancy", "A static schedule balances cores evenly."),
    ("Unroll twice by hand", "control flow and loops", "Fewer branches remain after peeling odd iterations."),
)
TWIN = ("Vectorize columns with masks", "compute and instructions", "Wide registers hold sixteen columns apiece.")
"""Says the same as the first mechanism."""


def source(body: str = RIGHT, mark: str = "") -> str:
    return f"{HEAD}// {mark}\n{body}"


def fenced(text: str) -> str:
    return f"The plan is plain.\n\n```cpp\n{text}```\n"


def ideas(prompt: str) -> str:
    """As many ideas as the prompt asks for, unlike those for any other prompt; of three or more, the last says the
    same as the first."""
    found = re.search(r"Propose exactly (\d+) idea", prompt)
    assert found
    count, mark = int(found[1]), digest(prompt)
    chosen = [*MECHANISMS[: count - 1], TWIN] if count >= 3 else MECHANISMS[:count]
    own = " ".join(mark[place : place + 4] for place in range(0, 32, 4))
    listed = [
        {
            "title": f"{title} {mark[:6]}",
            "category": category,
            "mechanism": f"{mechanism} {own}",
            "expected_speedup": 1.5,
            "risk": "none",
        }
        for title, category, mechanism in chosen
    ]
    return f"Thinking.\n\n```json\n{json.dumps(listed)}\n```\n"


def is_ideas(prompt: str) -> bool:
    return "Propose exactly" in prompt


def is_repair(prompt: str) -> bool:
    return "Find out why, and write the file that works." in prompt


def variant(prompt: str) -> int:
    """Which implementation, from 1, the prompt asks for."""
    found = re.search(r"You are implementation (\d+) of", prompt)
    return int(found[1]) if found else 1


def right(prompt: str) -> str:
    """Every idea and every kernel comes out right; each kernel's text is its own."""
    return ideas(prompt) if is_ideas(prompt) else fenced(source(RIGHT, digest(prompt)[:12]))


def mixed(prompt: str) -> str:
    """First implementations are right. Second ones do not compile, and neither do the repairs of those with an
    idea; without one, the repair is right."""
    mark = digest(prompt)[:12]
    if is_ideas(prompt):
        return ideas(prompt)
    if is_repair(prompt):
        return fenced(source(WRONG if "## The idea" in prompt else RIGHT, mark))
    return fenced(source(RIGHT if variant(prompt) == 1 else BROKEN, mark))


def verdict(source: str) -> float | Failing:
    """What a ScriptedEvaluator says of these answers' kernels: each that is right has a time (ms) of its own."""
    if BROKEN in source:
        return Failing(Status.BUILD_FAILED, "error: 'gone' was not declared in this scope")
    if WRONG in source:
        return Failing(Status.WRONG, "output out differs")
    return 0.1 + int(digest(source)[:6], 16) / 1e8


def evaluator() -> ScriptedEvaluator:
    """Judges these answers' kernels without building them."""
    return ScriptedEvaluator(verdict)


def write_problem(folder: Path, name: str = "scaled_relu") -> Path:
    path = folder / f"{name}.py"
    path.write_text(PROBLEM)
    return path


def write_answers(folder: Path, only: Sequence[str] = ()) -> int:
    """Answer the questions that lie in a `file/` folder (those named alone, if any); returns how many."""
    answered = 0
    for question in sorted(folder.glob("*.prompt.md")):
        answer = folder / question.name.replace(".prompt.", ".answer.")
        if not answer.exists() and (not only or str(answer) in only):
            answer.write_text(right(question.read_text()))
            answered += 1
    return answered


# ── the command line in a process of its own ────────────────────────────────────────────────────


def environment(**variables: str) -> dict[str, str]:
    """This process's environment with a dummy key; variables set to "" are left out."""
    merged = {**os.environ, "OPENAI_API_KEY": "dummy", "COLUMNS": "120", **variables}
    return {name: value for name, value in merged.items() if value}


def command(*words: object) -> list[str]:
    return [sys.executable, "-c", "from treesearch.cli import main; main()", *map(str, words)]


def treesearch(
    *words: object, cwd: Path, env: Mapping[str, str] | None = None, seconds: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run `treesearch WORDS…` to its end."""
    variables = environment() if env is None else dict(env)
    return subprocess.run(
        command(*words), cwd=cwd, env=variables, capture_output=True, text=True, check=False, timeout=seconds
    )


def typed(*words: object, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `treesearch WORDS…` in this process, which spares the seconds that importing torch takes.

    Variables set to "" are unset.
    """
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, chdir(cwd), redirect_stdout(out), redirect_stderr(err):
        for name, value in variables.items():
            patch.setenv(name, value)
            if not value:
                patch.delenv(name)
        code = execute([str(word) for word in words])
    return subprocess.CompletedProcess([str(word) for word in words], code, out.getvalue(), err.getvalue())


def requests_of(archive: str | Path) -> dict[str, Request]:
    """Every answered request of an archive's latest run, by id."""
    with Archive(archive) as store:
        run = store.latest_run()
        return {request.id: request for request, _ in store.answers(run.id)} if run else {}


@contextmanager
def settings() -> Iterator[None]:
    """Inside the block, every provider that a test could ask has a key of no worth."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "dummy")
        yield
