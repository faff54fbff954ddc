"""How many candidates a minute this machine judges, against the usual way, and where the time goes.

    python -m benchmarks.evaluator prepare -o FILE [--archive URL]
    python -m benchmarks.evaluator run FILE [--language LANGUAGE] [--candidates N] [--usual N] [--part PART]…

The first writes down the kernels of the shipped record, and of an archive of one's own, and needs what reading an
archive needs. The second needs only Python, torch and a compiler, and prints Markdown tables for every language that
this machine has a compiler and a device for, each row when it is known: how fast `work` gets through all candidates,
built anew and built before; how fast some of them are judged the usual way (`usual.py`); where one verdict's time goes;
memory; and, on a GPU, how our times compare with those of other tools.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from benchmarks import agreement, candidates, stopwatch, usual
from benchmarks.candidates import Batch
from benchmarks.memory import Sampler
from treesearch import languages, problem
from treesearch.errors import TreesearchError
from treesearch.evaluation import bundle, target
from treesearch.evaluation.bundle import Bundle, Due
from treesearch.evaluation.evaluator import Evaluator
from treesearch.records import Device, Problem, Status
from treesearch.work import work

USUAL = 16
SINGLE = 16
"""Candidates that are judged one at a time."""
DEADLINE_SECONDS = 20.0
GOALS = {
    "cuda": {"rate": "≥ 120", "cached": "≥ 200", "single": "< 3 s"},
    "cpu": {"rate": "–", "cached": "–", "single": "< 2 s"},
}
PARTS = THROUGHPUT, THE_USUAL_WAY, SINGLY, AGREEMENT, MEMORY = "throughput", "usual", "single", "agreement", "memory"
LARGE = "softmax", Path(__file__).parents[1] / "examples" / "softmax.cu"
"""A problem and a kernel whose peak memory is looked at, on a GPU."""
Row = tuple[str, str, str]
"""What was looked at, what was found, and what should be."""


@dataclass(frozen=True)
class Pass:
    """All candidates judged once: wall time, statuses, and the judging thread's seconds by step."""

    seconds: float
    statuses: Counter[Status]
    steps: Mapping[str, float]

    @property
    def rate(self) -> float:
        """Candidates a minute."""
        return 60 * self.statuses.total() / self.seconds

    @property
    def setting_up(self) -> float:
        return sum(self.steps.get(step, 0.0) for step in stopwatch.SETTING_UP)

    @property
    def looking_closely(self) -> float:
        """Seconds of what is done of the fastest alone, beside a duel with what each was made from."""
        return self.steps.get(stopwatch.SANITIZER, 0.0) + self.steps.get(stopwatch.PROFILER, 0.0)

    @property
    def judging(self) -> float:
        """Seconds in which a candidate was started, timed or checked."""
        idle = {*stopwatch.SETTING_UP, *stopwatch.BUILDING, stopwatch.OTHER}
        return sum(seconds for step, seconds in self.steps.items() if step not in idle)


@dataclass(frozen=True)
class Singles:
    """Candidates judged one at a time: seconds from source to verdict of each, and by step of all."""

    seconds: tuple[float, ...]
    steps: Mapping[str, float]
    promoted: tuple[float, ...] = ()
    """Those of `seconds` that were the fastest so far, and looked at with a sanitizer, a profiler and a parent."""


def report(batches: Sequence[Batch], hardware: Device, usual_count: int, parts: Sequence[str]) -> Iterator[str]:
    """Everything about one language, or the named parts of it, as Markdown, line by line as it becomes known."""
    which = ", ".join(f"{len(batch.candidates)} of {batch.problem.name}" for batch in batches)
    yield f"### {hardware.name}, {os.cpu_count()} cores: {candidates.total(batches)} distinct candidates ({which})\n"
    yield table(("what", "found", "goal"), ())
    goals = GOALS[hardware.kind]
    fresh: Pass | None = None
    singles: Singles | None = None
    with tempfile.TemporaryDirectory(prefix="treesearch-benchmark-") as name:
        if THROUGHPUT in parts:
            fresh = throughput(batches, hardware, Path(name) / "fresh")
            yield from map(line, rates(fresh, goals["rate"]))
            cached = throughput(batches, hardware, Path(name) / "cached")
            yield from map(line, again(cached, goals["cached"]))
        if THE_USUAL_WAY in parts:
            found = usual.judge(candidates.chosen(batches, usual_count), hardware.architecture)
            yield from map(line, beside(found, fresh))
        if SINGLY in parts:
            shares = list[Singles]()
            for batch in candidates.chosen(batches, SINGLE):
                shares.append(one_by_one(batch, hardware))
                yield line(each(batch, shares[-1]))
            singles = together(shares)
            yield from map(line, latency(singles, goals["single"]))
        if AGREEMENT in parts and hardware.kind == "cuda":
            yield from map(line, compared(list(agreement.agreements(batches, hardware))))
        if MEMORY in parts:
            yield from map(line, memory(batches, hardware))
    if fresh:
        yield f"\n{breakdown('one of many (mean)', fresh.statuses.total(), fresh.seconds, fresh.steps)}"
    if singles:
        count, whole = len(singles.seconds), sum(singles.seconds)
        yield f"\n{breakdown('one by itself (mean)', count, whole, singles.steps)}"
    yield f"\nLoad {os.getloadavg()[0]:.1f} at the end."


def throughput(batches: Sequence[Batch], hardware: Device, folder: Path) -> Pass:
    """`work` on a bundle of each problem, one after the other."""
    folder.mkdir()
    statuses: Counter[Status] = Counter()
    with stopwatch.watching() as watch:
        started = time.perf_counter()
        for number, batch in enumerate(batches):
            path = folder / f"{number}{bundle.SUFFIX}"
            bundle.write(path, packed(batch, hardware).text)
            done = work(path, say=lambda line: None)
            statuses.update(verdict.evaluation.status for verdict in done.verdicts)
            said = f"{len(done.verdicts)} candidates of {batch.problem.name} in {done.seconds:.1f} s"
            print(said, file=sys.stderr, flush=True)
        return Pass(time.perf_counter() - started, statuses, watch.take())


def packed(batch: Batch, hardware: Device) -> Bundle:
    return Bundle(
        run="",
        problem=batch.problem,
        problem_digest=batch.problem.digest,
        language=batch.language,
        protocol=target.protocol(batch.problem, DEADLINE_SECONDS, hardware),
        device=hardware,
        kernels=tuple(
            Due.of(f"k{number}", candidate.source, candidate.parent)
            for number, candidate in enumerate(batch.candidates)
        ),
        promoted=batch.promoted,
    )


def one_by_one(batch: Batch, hardware: Device) -> Singles:
    """From a source that was never built to its verdict, with deck and baselines there already."""
    judged = list[Singles]()
    protocol = target.protocol(batch.problem, DEADLINE_SECONDS, hardware)
    with (
        stopwatch.watching() as watch,
        Evaluator(batch.problem, languages.named(batch.language), protocol, hardware) as evaluator,
    ):
        evaluator.evaluate(batch.candidates[0].source)
        watch.take()
        for candidate in batch.candidates:
            started = time.perf_counter()
            evaluator.evaluate(f"{candidate.source}\n// {time.time_ns()}\n")
            seconds, steps = (time.perf_counter() - started,), watch.take()
            judged.append(Singles(seconds, steps, seconds if stopwatch.SANITIZER in steps else ()))
    return together(judged)


def together(shares: Sequence[Singles]) -> Singles:
    """All of them as one."""
    steps = defaultdict[str, float](float)
    for share in shares:
        for step, spent in share.steps.items():
            steps[step] += spent
    return Singles(
        tuple(chain.from_iterable(share.seconds for share in shares)),
        steps,
        tuple(chain.from_iterable(share.promoted for share in shares)),
    )


# ── rows ────────────────────────────────────────────────────────────────────────────────────────


def rates(fresh: Pass, goal: str) -> Iterator[Row]:
    yield "candidates a minute", f"{fresh.rate:.1f} ({tally(fresh.statuses)})", goal
    yield "… without setting up the problems", f"{without_set_up(fresh):.1f} ({fresh.setting_up:.0f} s of it)", "–"
    further = f"{without_closer_looks(fresh):.1f} ({fresh.looking_closely:.0f} s of it)"
    yield "… nor looking closely at the fastest", further, "–"
    yield "… share of the time in which one was started, timed or checked", share(fresh.judging / fresh.seconds), "–"


def again(cached: Pass, goal: str) -> Iterator[Row]:
    yield "… built before", f"{cached.rate:.1f} ({tally(cached.statuses)})", goal
    yield "… built before, without setting up", f"{without_set_up(cached):.1f}", "–"
    yield "… built before, nor looking closely at the fastest", f"{without_closer_looks(cached):.1f}", "–"


def beside(found: usual.Judged, fresh: Pass | None) -> Iterator[Row]:
    theirs = 60 * found.candidates / found.seconds
    built = f"builds of {statistics.median(found.builds):.0f} s" if found.builds else "none built"
    yield f"the usual way, {found.candidates} of them", f"{theirs:.2f} ({found.right} right, {built})", "–"
    if fresh:
        yield "ratio", f"{fresh.rate / theirs:.1f}", "≥ 20"
    for failure in dict.fromkeys(found.failures):
        yield "… one that failed", failure[:100], "–"


def without_set_up(one: Pass) -> float:
    return 60 * one.statuses.total() / (one.seconds - one.setting_up)


def without_closer_looks(one: Pass) -> float:
    """Nor setting up: what one more candidate, that is not among the fastest, would add to."""
    return 60 * one.statuses.total() / (one.seconds - one.setting_up - one.looking_closely)


def latency(singles: Singles, goal: str) -> Iterator[Row]:
    first, median, third = statistics.quantiles(singles.seconds, n=4, method="inclusive")
    found = f"{median:.2f} s (quartiles {first:.2f} and {third:.2f})"
    yield f"answer to verdict, median of {len(singles.seconds)}", found, goal
    if singles.promoted:
        yield f"… of {len(singles.promoted)} that were promoted", f"{statistics.median(singles.promoted):.2f} s", "–"


def each(batch: Batch, singles: Singles) -> Row:
    """One problem's candidates, in the order in which they were judged."""
    return f"{batch.problem.name}, one by one", ", ".join(f"{one:.2f} s" for one in singles.seconds), "–"


def compared(found: Sequence[agreement.Agreement]) -> Iterator[Row]:
    for which in ("do_bench", "ncu") if found else ():
        furthest = agreement.furthest(found, which)
        told = "; ".join(f"{one.problem} {one.ours:.4g} ms: {getattr(one, which) or '–'}" for one in found)
        yield f"furthest from {which}", f"{share(furthest) if furthest is not None else 'not there'} ({told})", "≤ 3 %"


def memory(batches: Sequence[Batch], hardware: Device) -> Iterator[Row]:
    """Of one verdict with its deck and baselines; where there is no GPU, on the first problem of the file."""
    large = hardware.kind == "cuda"
    subject: Problem = problem.load(LARGE[0]) if large else batches[0].problem
    source = LARGE[1].read_text() if large else batches[0].candidates[-1].source
    language = languages.for_device(hardware.kind)
    protocol = target.protocol(subject, DEADLINE_SECONDS, hardware)
    with Sampler() as sampler, Evaluator(subject, language, protocol, hardware) as evaluator:
        verdict = evaluator.evaluate(source)
    yield f"peak memory, {subject.name} ({verdict.status})", sampler.told, "–"


def breakdown(what: str, count: int, whole: float, spent: Mapping[str, float]) -> str:
    """Where `whole` seconds of `count` verdicts went, without steps that take less than a hundredth of them."""
    steps = sorted(spent.items(), key=lambda item: -item[1])
    shown = [(step, f"{taken / count:.3f}", share(taken / whole)) for step, taken in steps if taken >= whole / 100]
    return table((f"step of a verdict, {what}", "seconds", "share"), shown)


def table(heads: Row, rows: Sequence[Row]) -> str:
    return "\n".join(map(line, (heads, ("---",) * 3, *rows)))


def line(row: Row) -> str:
    return f"| {' | '.join(row)} |"


def share(value: float) -> str:
    return f"{100 * value:.1f} %"


def tally(statuses: Counter[Status]) -> str:
    return ", ".join(f"{count} {str(status).replace('_', ' ')}" for status, count in statuses.most_common())


# ── the command ─────────────────────────────────────────────────────────────────────────────────


def measure(path: Path, language: str | None, count: int | None, usual_count: int, parts: Sequence[str]) -> None:
    """Print the tables. Builds go to a cache of their own, so that none is there before."""
    prepared = candidates.read(path)
    for hardware in target.HERE.all():
        spoken = languages.for_device(hardware.kind)
        batches = candidates.chosen((batch for batch in prepared.batches if batch.language == spoken.name), count)
        if batches and spoken.compiler() and language in (None, spoken.name):
            with tempfile.TemporaryDirectory(prefix="treesearch-cache-") as cache:
                os.environ["TREESEARCH_CACHE"] = cache
                for known in report(batches, hardware, usual_count, parts):
                    print(known, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evaluator", description=(__doc__ or "").split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    preparing = commands.add_parser("prepare", help="write down the kernels of the shipped record")
    preparing.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    preparing.add_argument("--archive", action="append", default=[], metavar="URL", help="and of this one; repeatable")
    running = commands.add_parser("run", help="judge them on this machine")
    running.add_argument("file", type=Path, metavar="FILE")
    running.add_argument("--language", help="only kernels in this one")
    running.add_argument("--candidates", type=int, metavar="N", help="so many at the most; all by default")
    running.add_argument(
        "--usual", type=int, default=USUAL, metavar="N", help=f"so many the usual way; by default {USUAL}"
    )
    running.add_argument(
        "--part", action="append", choices=PARTS, metavar="PART", help=f"{', '.join(PARTS)}; repeatable, all by default"
    )
    given = parser.parse_args()
    try:
        if given.command == "run":
            measure(given.file, given.language, given.candidates, given.usual, given.part or PARTS)
            return
        for batch in candidates.prepare(given.output, given.archive).batches:
            print(f"{len(batch.candidates)} distinct kernels of {batch.problem.name} in {batch.language}")
    except TreesearchError as error:
        print(f"Error: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from error


if __name__ == "__main__":
    main()
