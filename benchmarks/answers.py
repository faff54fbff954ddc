"""What asking costs beside the models' own time: many answers at once, and many candidates one after another.

    python -m benchmarks.answers [CANDIDATES]

Prints wall and CPU seconds of 200 answers that take a second each and are asked for at once; then, for a search of
10,000 candidates (or CANDIDATES) whose model and evaluator answer at once, what each costs us and how memory grows.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from treesearch import loop, policies, problem
from treesearch.archive import Archive
from treesearch.evaluation import device
from treesearch.events import Event, RoundBegan
from treesearch.languages import CPP
from treesearch.models import ApiModel, ModelOptions, Pool
from treesearch.records import Answer, Config, Request, Stage, digest
from treesearch.steps.task import Task
from treesearch.testing import HttpReply, ScriptedEndpoint, ScriptedEvaluator

ANSWERS = 200
LATENCY = 1.0
IDEAS, IMPLEMENTATIONS, BEAM = 50, 4, 4
PER_ROUND = IDEAS * IMPLEMENTATIONS


def concurrent_answers() -> str:
    """Answers over HTTP; the endpoint runs in this process and is part of the CPU time."""
    os.environ.setdefault("OPENAI_API_KEY", "scripted")
    reply = HttpReply("```cpp\nint x;\n```\n", delay_seconds=LATENCY)
    asked = [Request("run", 0, Stage.KERNEL, "problem", "", str(n), "prompt " * 2000) for n in range(ANSWERS)]
    with ScriptedEndpoint(lambda prompt: reply) as endpoint, ThreadPoolExecutor(ANSWERS) as pool:
        model = ApiModel("openai/scripted", options=ModelOptions(concurrency=ANSWERS, api_base=endpoint.base_url))
        model.ask(asked[0])  # the first call of a process spends a while in its imports
        wall, cpu = time.perf_counter(), time.process_time()
        answers = list(pool.map(model.ask, asked))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return f"{len(answers)} answers of {LATENCY:g} s at once: {wall:.2f} s, {cpu:.2f} s of CPU time"


class Instant:
    """A model that answers at once; no two ideas are alike, and every kernel is its own. Keeps nothing."""

    name = "scripted/instant"

    def ask(self, request: Request) -> Answer:
        if request.stage is Stage.IDEAS:
            listed = [_idea(request, place) for place in range(_wanted(request.prompt))]
            return Answer(f"```json\n{json.dumps(listed)}\n```\n", self.name)
        kernel = f'#include "problem.h"\n// {request.id}\nextern "C" int launch(const float* x, float* out, void*);\n'
        return Answer(f"```cpp\n{kernel}```\n", self.name)


def _wanted(prompt: str) -> int:
    found = re.search(r"exactly (\d+)", prompt)
    return int(found[1]) if found else IDEAS


def _idea(request: Request, place: int) -> dict[str, object]:
    words = " ".join(digest(request.id, place, word)[:6] for word in range(12))
    return {"title": words[:20], "mechanism": words, "expected_speedup": 1.2, "risk": "none"}


class Growth:
    """Resident memory of this process when the second round begins, and at the end."""

    def __init__(self) -> None:
        self.early = 0

    def __call__(self, event: Event) -> None:
        if isinstance(event, RoundBegan) and event.number == 2:
            self.early = resident()

    def since(self) -> int:
        """Bytes."""
        return resident() - self.early


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def candidates(wanted: int) -> str:
    subject, growth = problem.load("softmax_small"), Growth()
    rounds = max(wanted // PER_ROUND, 2)
    config = Config((Instant.name,), rounds=rounds, ideas=IDEAS, implementations=IMPLEMENTATIONS, beam=BEAM, repairs=0)
    with tempfile.TemporaryDirectory() as folder, Archive(Path(folder) / "archive.db") as archive:
        task = Task(
            run=archive.open_run(subject, config, device.cpu()),
            problem=subject,
            language=CPP,
            device=device.cpu(),
            models=Pool([Instant()], [Instant()]),
            policy=policies.fastest,
            archive=archive,
            evaluator=ScriptedEvaluator(lambda source: 0.1 + int(digest(source)[:6], 16) / 1e8),
            observe=growth,
        )
        wall, cpu = time.perf_counter(), time.process_time()
        count = len(loop.search(task).entries)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        size = (Path(folder) / "archive.db").stat().st_size
    return (
        f"{count} candidates in {rounds} rounds: {1e3 * wall / count:.2f} ms each, {1e3 * cpu / count:.2f} ms of CPU; "
        f"memory grew by {growth.since() / count / 1e3:.1f} KB a candidate, the archive by {size / count / 1e3:.1f} KB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.answers", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("candidates", nargs="?", type=int, default=10_000, help="how many; by default 10,000")
    given = parser.parse_args()
    print(concurrent_answers())
    print(candidates(given.candidates))
    print(f"{device.cpu().name}, {device.cores()} cores, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
