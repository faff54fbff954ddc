"""Judge bundles of kernels on this machine, which needs only Python, torch and a compiler.

    python -m treesearch.work BUNDLE…
    python -m treesearch.work --device FILE.json

The first judges bundles, and goes on after a crash; the second describes this machine, so that a search elsewhere can
name it: `treesearch run --device FILE.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from treesearch import languages
from treesearch.errors import MachineError, TreesearchError, UsageError
from treesearch.evaluation import bundle as bundles
from treesearch.evaluation import cache, device, noise, results
from treesearch.evaluation.build import Built, builders
from treesearch.evaluation.bundle import Bundle, Due
from treesearch.evaluation.evaluator import Evaluator
from treesearch.evaluation.results import Results, Verdict
from treesearch.evaluation.trial import Attempted
from treesearch.records import Device, Evaluation, Status, codec

INTERRUPTED = 130
LONGEST_REASON = 120
ERROR = re.compile(r"\berror: (?!ld returned)|undefined reference")
"""A line of compiler or linker output that says what is wrong."""
Say = Callable[[str], None]
T = TypeVar("T")


@dataclass(frozen=True)
class Worked:
    """A bundle that is done."""

    results: Path
    verdicts: tuple[Verdict, ...]
    fresh: int
    """How many of them are of this time; the others an earlier go had left."""
    seconds: float


def work(
    path: Path,
    output: Path | None = None,
    *,
    any_device: bool = False,
    say: Say = print,
    announce: Say = lambda what: None,
) -> Worked:
    """Judge a bundle's kernels into a results file, by default `NAME.results.jsonl` beside it.

    Every verdict is on disk before the next kernel's turn, but for those of the few fastest so far, which wait for a
    closer look at the end: a kill loses these and the kernel in hand at most, and the same call goes on. `say` gets a
    line for each verdict, `announce` what takes a while. With `any_device` kernels are judged here although they wait
    for another device; nobody but a person will take such results.

    Raises UsageError for a bundle, or a results file, that does not fit.
    """
    started = time.monotonic()
    packed = bundles.read(path)
    hardware = _fitting(packed, any_device)
    target = output or bundles.results_of(path)
    with cache.alone(f"results {target.resolve()}", f"{target} is already being written by another process."):
        kept = results.resumed(target, packed, results.header(packed, hardware))
        _begin(target, kept)
        verdicts = list(kept.verdicts)
        judge = _measured_again if packed.purpose else _judged
        for verdict in judge(packed, hardware, _left(packed, kept), announce):
            _append(target, verdict)
            verdicts.append(verdict)
            say(f"{len(verdicts)}/{len(packed.kernels)} {_one_line(verdict.kernel)} {described(verdict.evaluation)}")
    done = Worked(target, tuple(verdicts), len(verdicts) - len(kept.verdicts), time.monotonic() - started)
    say(_summary(done))
    return done


def this_device(kind: str | None = None) -> Device:
    """This machine's device of a kind, measured; by default its GPU, else its CPU.

    Raises MachineError where there is none of that kind.
    """
    return device.local(kind or ("cuda" if device.has_gpu() else "cpu"))


def describe(path: Path, kind: str | None = None) -> Device:
    """Write down `this_device`, for runs that target it from elsewhere."""
    found = noise.completed(this_device(kind))
    bundles.write(path, json.dumps(codec.encode(found), indent=1) + "\n")
    return found


def described(judged: Evaluation) -> str:
    """A verdict on one line: status, time, speed-ups over eager and torch.compile, or what went wrong."""
    status = str(judged.status).replace("_", " ")
    measured = judged.measurement
    if measured is None:
        return f"{status}: {_one_line(_telling(judged))[:LONGEST_REASON]}"
    compiled = f" {measured.compile_speedup.value:.2f}× compile" if measured.compile_speedup else ""
    return f"{status} {measured.kernel.median:.3g} ms {measured.eager_speedup.value:.2f}× eager{compiled}"


def _telling(judged: Evaluation) -> str:
    """What went wrong; of a compiler's output, its first error rather than what leads up to it."""
    if judged.status is not Status.BUILD_FAILED:
        return judged.error
    return next((line for line in judged.error.splitlines() if ERROR.search(line)), judged.error)


def _fitting(packed: Bundle, any_device: bool) -> Device:
    """This machine's device, if it is the one that the bundle is for."""
    hardware = device.local(packed.device.kind)
    if hardware.id != packed.device.id and not any_device:
        raise UsageError(
            f"The bundle is for {packed.device.name} ({packed.device.id}), and this is {hardware.name} "
            f"({hardware.id}); take it to that device, or judge it here for yourself with --any-device."
        )
    return hardware


def _left(packed: Bundle, kept: Results) -> list[Due]:
    known = {verdict.kernel for verdict in kept.verdicts}
    return [kernel for kernel in packed.kernels if kernel.id not in known]


def _measured_again(packed: Bundle, hardware: Device, left: Sequence[Due], announce: Say) -> Iterator[Verdict]:
    """Thoroughly, for figures to publish, in the bundle's order."""
    language = languages.named(packed.language)
    with Evaluator(packed.problem, language, packed.protocol, hardware, announce=announce) as evaluator:
        measured = evaluator.remeasure([kernel.source for kernel in left])
        for kernel, evaluation in zip(left, measured, strict=True):
            yield _verdict(packed, kernel, evaluation)


def _judged(packed: Bundle, hardware: Device, left: Sequence[Due], announce: Say) -> Iterator[Verdict]:
    """Builds side by side, judgements one after another as builds come; at the end, a closer look at the fastest.

    Which these are is known only then, and a sanitizer takes longer than all else.
    """
    if not left:
        return
    language = languages.named(packed.language)
    with (
        Evaluator(packed.problem, language, packed.protocol, hardware, announce=announce) as evaluator,
        builders() as pool,
    ):
        builds = {pool.submit(_built, evaluator, kernel): kernel for kernel in left}
        evaluator.prepare()
        fastest: list[_Held] = []
        for build in _as_built(list(builds)):
            built, parent = build.result()
            one = _Held(builds[build], parent, evaluator.attempt(built, packed.incumbent))
            for passed in _overtaken(fastest, one, packed.promoted):
                yield _verdict(packed, passed.kernel, evaluator.conclude(passed.attempted))
            if one in fastest:
                time_taken = f"{one.attempted.milliseconds:.3g} ms"
                announce(f"{_one_line(one.kernel.id)} is right and takes {time_taken}; a closer look comes at the end")
        for one in fastest:
            judged = evaluator.conclude(one.attempted, one.parent, closely=True)
            yield _verdict(packed, one.kernel, judged)


def _as_built(builds: list[Future[T]]) -> Iterator[Future[T]]:
    """Each when it is done; of several that are, the bundle's first."""
    while builds:
        wait(builds, return_when=FIRST_COMPLETED)
        first = next(build for build in builds if build.done())
        builds.remove(first)
        yield first


@dataclass(frozen=True, eq=False)
class _Held:
    """A kernel whose verdict waits until it is known whether it is one of the fastest."""

    kernel: Due
    parent: Built | None
    attempted: Attempted


def _overtaken(fastest: list[_Held], one: _Held, most: int) -> list[_Held]:
    """Put a kernel in its place among the fastest, and return those that are not, or no longer, among so many."""
    if not one.attempted.sound:
        return [one]
    insort(fastest, one, key=lambda held: held.attempted.milliseconds)
    overtaken = fastest[most:]
    del fastest[most:]
    return overtaken


def _built(evaluator: Evaluator, kernel: Due) -> tuple[Built, Built | None]:
    """A kernel, and what it was made from if that is of any use."""
    built = evaluator.build(kernel.source)
    return built, evaluator.build(kernel.parent) if kernel.parent and built.library else None


def _verdict(packed: Bundle, kernel: Due, evaluation: Evaluation) -> Verdict:
    dated = replace(evaluation, created=datetime.now(UTC).isoformat(timespec="microseconds"))
    return Verdict(packed.digest, kernel.id, kernel.digest, dated)


def _begin(target: Path, kept: Results) -> None:
    """The file as far as it is good, header included."""
    if not target.exists() or target.read_text(errors="replace") != kept.text:
        bundles.write(target, kept.text)


def _append(target: Path, verdict: Verdict) -> None:
    try:
        with open(target, "a", encoding="utf-8", newline="") as file:
            file.write(verdict.text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise MachineError(f"Cannot write {target}: {error.strerror}; make room and run the same again.") from error


def _summary(done: Worked) -> str:
    kept = len(done.verdicts) - done.fresh
    counts = Counter(str(verdict.evaluation.status).replace("_", " ") for verdict in done.verdicts)
    tally = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    before = f", {kept} of them from before" if kept else ""
    return f"{len(done.verdicts)} verdicts ({tally}){before} in {done.seconds:.1f} s: {done.results}"


def _one_line(text: str) -> str:
    """Foreign text that can neither break the line nor drive the terminal."""
    return "".join(character if character.isprintable() else "\ufffd" for character in " ".join(text.split()))


# ── the command, for machines where click is not installed ──────────────────────────────────────


def main(words: Sequence[str]) -> int:
    """Run `python -m treesearch.work WORDS…`; returns the exit code."""
    given = _parser().parse_args(words)
    if given.output and len(given.bundles) != 1:
        _parser().error("-o names the results of one bundle")
    if not given.bundles and not given.device:
        _parser().error("name a bundle, or --device FILE.json")
    try:
        if given.device:
            print(f"{describe(given.device).name}: {given.device}")
        for path in given.bundles:
            work(path, given.output, any_device=given.any_device, say=_say, announce=_announce)
    except TreesearchError as error:
        print(f"Error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("Interrupted; the same command goes on from here.", file=sys.stderr)
        return INTERRUPTED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m treesearch.work", description="Judge bundles of kernels here.")
    parser.add_argument("bundles", nargs="*", type=Path, metavar="BUNDLE", help="what `treesearch run` packed")
    parser.add_argument("-o", "--output", type=Path, metavar="RESULTS", help="where the results go")
    parser.add_argument("--any-device", action="store_true", help="judge here although another device is meant")
    parser.add_argument("--device", type=Path, metavar="FILE.json", help="write a description of this machine")
    return parser


def _say(line: str) -> None:
    print(line, flush=True)


def _announce(what: str) -> None:
    print(f"{what} …", file=sys.stderr, flush=True)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # without waiting for threads that still build
