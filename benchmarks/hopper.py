"""What prompts are worth where models fail most: a Hopper idea, written five times each from older and newer ones.

    python -m benchmarks.hopper

Builds the ten kernels of `hopper.json`, and where there is a GPU of their kind judges them; prints one Markdown row for
each set of prompts. All were written by the same model (as `file/`; "claude (version unknown)") from the prompt alone,
without a compiler, each once and by an answerer who knew neither the others nor which prompts were the older ones: to
multiply float32 matrices as float16 pairs by wgmma that TMA feeds. Both prompts have the same task, parent, verdict
and idea; the older ones describe the instructions on one page, the newer ones add compiled examples of whole pipelines,
what inputs are checked and how kernels fail.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks import sealed
from treesearch import answers, languages, problem
from treesearch.errors import MachineError, TreesearchError
from treesearch.evaluation import build, target
from treesearch.evaluation.build import Built
from treesearch.evaluation.evaluator import Evaluator
from treesearch.records import Evaluation, Idea, Status

FILE = Path(__file__).with_name("hopper.json")
ARCHITECTURE = "sm_90a"
DEADLINE_SECONDS = 20.0
BUILDS = 2
"""Compilers at a time."""


@dataclass(frozen=True)
class Written:
    """What five answerers wrote when they were asked in one way."""

    prompts: str
    """Which prompts: the version they are of."""
    characters: int
    """Of one prompt."""
    answers: tuple[str, ...]


@dataclass(frozen=True)
class Asked:
    """One question, asked in several ways."""

    problem: str
    parent: str
    """Source of the kernel that the idea is about."""
    idea: Idea
    written: tuple[Written, ...]


@dataclass(frozen=True)
class Found:
    """What became of the kernels of one way of asking: builds, and verdicts where there is a GPU of their kind."""

    written: Written
    built: tuple[Built | None, ...]
    """None for an answer without code."""
    verdicts: tuple[Evaluation, ...]


def read() -> Asked:
    return sealed.read(FILE, Asked, "answers")


def built(asked: Asked) -> Iterator[tuple[Written, tuple[Built | None, ...]]]:
    """Every kernel, built for the GPU that it was written for, which need not be here."""
    subject = problem.load(asked.problem)
    with ThreadPoolExecutor(BUILDS) as pool:
        for written in asked.written:
            sources = [answers.code(text, languages.CUDA.fences, languages.CUDA.entry) for text in written.answers]
            made = [
                pool.submit(build.build, subject, languages.CUDA, source, ARCHITECTURE) if source else None
                for source in sources
            ]
            yield written, tuple(one.result() if one else None for one in made)


def judged(asked: Asked, builds: Sequence[tuple[Written, tuple[Built | None, ...]]]) -> Iterator[Found]:
    """Verdicts on those that build, all on one deck, where this machine has a GPU for them."""
    try:
        goal = target.at_hand(languages.CUDA)
    except MachineError as reason:
        print(f"Not judged: {reason}", file=sys.stderr)
        yield from (Found(written, made, ()) for written, made in builds)
        return
    subject = problem.load(asked.problem)
    protocol = goal.protocol(subject, DEADLINE_SECONDS)
    with Evaluator(subject, goal.language, protocol, goal.device) as evaluator:
        for written, made in builds:
            yield Found(written, made, tuple(evaluator.judge(one) for one in made if one))


def table(found: Sequence[Found]) -> str:
    """One row for each way of asking; nothing is said of verdicts that were not given."""
    rows = [
        "| prompts | characters | answers with code | built | right | fastest, median of the right | what failed |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for one in found:
        code = [made for made in one.built if made]
        right = sorted(v.milliseconds for v in one.verdicts if v.status is Status.VERIFIED and v.milliseconds)
        failed = [f"{v.status}: {v.error}" for v in one.verdicts if v.status is not Status.VERIFIED]
        times = f"{right[0]:.4g} ms, {statistics.median(right):.4g} ms" if right else "–"
        rows.append(
            f"| {one.written.prompts} | {one.written.characters:,} | {len(code)} of {len(one.built)} "
            f"| {sum(made.library is not None for made in code)} "
            f"| {len(right) if one.verdicts else 'not judged here'} | {times} "
            f"| {'; '.join(' '.join(why.split())[:120].replace('|', '∣') for why in failed) or '–'} |"
        )
    return "\n".join(rows)


def main() -> int:
    try:
        asked = read()
        builds = list(built(asked))
        print(f"{asked.problem}: {asked.idea.title}\n\n{table(list(judged(asked, builds)))}")
    except TreesearchError as error:
        print(f"Error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
