"""What asking costs beside the models' own time: many answers at once, and many candidates one after another.

    python -m benchmarks.answers [CANDIDATES]

Prints wall and CPU seconds of 200 answers that take a second each and are asked for at once; then, for a search of
10,000 candidates (or CANDIDATES) whose model and evaluator answer at once and keep nothing, what each costs us and how
memory grows between a fifth of them and all: once with kernels of a line, where little but our own work is left, and
once with kernels of 12,000 characters that have nothing in common, as much as many a real one has.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from treesearch import loop, policies, problem
from treesearch.archive import Archive
from treesearch.evaluation import device
from treesearch.evaluation.build import Built
from treesearch.events import Event, Judged
from treesearch.languages import CPP
from treesearch.models import ApiModel, ModelOptions, Pool
from treesearch.records import Answer, Build, Config, Evaluation, Request, Stage, digest
from treesearch.steps.task import Task
from treesearch.testing import HttpReply, ScriptedEndpoint, ScriptedEvaluator

ANSWERS = 200
LATENCY = 1.0
IDEAS, IMPLEMENTATIONS, BEAM = 50, 4, 4
PER_ROUND = IDEAS * IMPLEMENTATIONS
CHARACTERS = 12_000


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

    def __init__(self, characters: int) -> None:
        """Of a kernel, beside the line that it takes at the least."""
        self._characters = characters

    def ask(self, request: Request) -> Answer:
        if request.stage is Stage.IDEAS:
            listed = [_idea(request, place) for place in range(_wanted(request.prompt))]
            return Answer(f"```json\n{json.dumps(listed)}\n```\n", self.name)
        filling = "".join(f"// {digest(request.id, line)}\n" for line in range(self._characters // 68))
        launch = 'extern "C" int launch(const float* x, float* out, void*);'
        return Answer(f'```cpp\n#include "problem.h"\n// {request.id}\n{filling}{launch}\n```\n', self.name)


def _wanted(prompt: str) -> int:
    found = re.search(r"exactly (\d+)", prompt)
    return int(found[1]) if found else IDEAS


def _idea(request: Request, place: int) -> dict[str, object]:
    words = " ".join(digest(request.id, place, word)[:6] for word in range(12))
    return {"title": words[:20], "mechanism": words, "expected_speedup": 1.2, "risk": "none"}


class Forgetful(ScriptedEvaluator):
    """Knows a kernel by the digest of its source, which says how long it takes, and keeps neither."""

    def __init__(self) -> None:
        super().__init__(lambda name: 0.1 + int(name[:6], 16) / 1e8)

    def build(self, source: str) -> Built:
        return Built(Path(digest(source)), Build("scripted", 0.0, False, ""))

    def source(self, built: Built) -> str:
        return str(built.library)

    def judge(self, built: Built, *, parent: Built | None = None, incumbent: float | None = None) -> Evaluation:
        self.judged.clear()
        return super().judge(built, parent=parent, incumbent=incumbent)

    def remeasure(self, sources: Sequence[str]) -> Iterator[Evaluation]:
        return super().remeasure([digest(source) for source in sources])


class Growth:
    """Resident memory of this process when a fifth of the candidates are judged, and when all of them are."""

    def __init__(self, wanted: int) -> None:
        self._points = dict.fromkeys((wanted // 5, wanted), 0)
        self._judged = 0

    def __call__(self, event: Event) -> None:
        if isinstance(event, Judged):
            self._judged += 1
            if self._judged in self._points:
                self._points[self._judged] = resident()

    def __str__(self) -> str:
        (few, before), (many, after) = self._points.items()
        return f"memory grew by {(after - before) / (many - few):,.0f} bytes a candidate from {few:,} to {many:,}"


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def candidates(wanted: int, characters: int) -> str:
    subject, rounds = problem.load("softmax_small"), max(wanted // PER_ROUND, 2)
    growth = Growth(rounds * PER_ROUND)
    config = Config((Instant.name,), rounds=rounds, ideas=IDEAS, implementations=IMPLEMENTATIONS, beam=BEAM, repairs=0)
    model = Instant(characters)
    with tempfile.TemporaryDirectory() as folder, Archive(Path(folder) / "archive.db") as archive:
        task = Task(
            run=archive.open_run(subject, config, device.cpu()),
            problem=subject,
            language=CPP,
            device=device.cpu(),
            models=Pool([model], [model]),
            policy=policies.fastest,
            archive=archive,
            evaluator=Forgetful(),
            observe=growth,
        )
        wall, cpu = time.perf_counter(), time.process_time()
        count = len(loop.search(task).entries)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        size = (Path(folder) / "archive.db").stat().st_size
    return (
        f"{count:,} candidates in {rounds} rounds, kernels of {characters:,} characters and a line: "
        f"{1e3 * wall / count:.2f} ms each, {1e3 * cpu / count:.2f} ms of CPU; {growth}, the archive by "
        f"{size / count:,.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.answers", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("candidates", nargs="?", type=int, default=10_000, help="how many; by default 10,000")
    given = parser.parse_args()
    print(concurrent_answers())
    for characters in (0, CHARACTERS):
        print(candidates(given.candidates, characters))
    print(f"{device.cpu().name}, {device.cores()} cores, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
