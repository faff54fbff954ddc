"""All winners and all baselines once more, on the machine at hand, beside what was recorded.

    python -m benchmarks.replay_h100 run [--archive URL] [--problem NAME]
    python -m benchmarks.replay_h100 prepare -o FILE [--archive URL]
    python -m benchmarks.replay_h100 run FILE

The first measures the winners of the shipped record, or of another archive, as `treesearch results` names them, in
every language that this machine has a compiler and a device for: in fresh processes, on fresh inputs, beside eager,
torch.compile and torch under other settings. Where no archive can be read, which takes sqlalchemy, the second writes
the winners down elsewhere, and the third needs only Python, torch and a compiler. Prints one Markdown table; ends with
1 where a winner is not right here.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import sealed
from treesearch import languages
from treesearch.errors import MachineError, TreesearchError
from treesearch.evaluation import target
from treesearch.evaluation.evaluator import Evaluator
from treesearch.records import Evaluation, Measurement, Problem, Ratio, Status

DEADLINE_SECONDS = 20.0
HEADS = (
    "problem",
    "kernel",
    "then",
    "now",
    "eager",
    "compile",
    "speed-up then",
    "speed-up now",
    "fastest torch that passes",
    "over it",
    "row error (eager's)",
    "clock, power",
)


@dataclass(frozen=True)
class Winner:
    """A kernel that won its search, with what was recorded of it."""

    problem: Problem
    language: str
    kernel: str
    source: str
    device: str
    """Name of the device it won on."""
    then: Evaluation


@dataclass(frozen=True)
class Prepared:
    winners: tuple[Winner, ...]


@dataclass(frozen=True)
class Again:
    """A winner, what became of it here, and on what."""

    winner: Winner
    device: str
    now: Evaluation


def recorded(place: str | None) -> Prepared:
    """The winners of an archive, by default of the shipped record. Needs what reading an archive needs."""
    from treesearch import resources
    from treesearch.archive import Archive
    from treesearch.view import results

    with Archive(place or resources.record(), read_only=True) as archive:
        found = [one for _, run in results.newest([archive]) if (one := results.of(archive, run))]
        return Prepared(
            tuple(
                Winner(
                    archive.problem(one.run.problem),
                    one.run.config.language,
                    one.winner.kernel.id,
                    one.winner.kernel.source or "",
                    one.device.name,
                    one.evaluation,
                )
                for one in found
            )
        )


def measured(winners: Sequence[Winner]) -> Iterator[Again]:
    """Each winner that this machine can run, measured for good."""
    for number, winner in enumerate(winners, 1):
        language = languages.named(winner.language)
        about = f"[{number}/{len(winners)}] {winner.problem.name}, {winner.kernel}"
        try:
            goal = target.at_hand(language)
        except MachineError as reason:
            print(f"{about}: not here ({reason})", file=sys.stderr, flush=True)
            continue
        print(f"{about}: measuring on {goal.device.name}", file=sys.stderr, flush=True)
        protocol = goal.protocol(winner.problem, DEADLINE_SECONDS)
        with Evaluator(winner.problem, language, protocol, goal.device) as evaluator:
            yield Again(winner, goal.device.name, next(evaluator.remeasure([winner.source])))


def table(found: Sequence[Again]) -> str:
    """One Markdown row for each; a winner that is not verified here says so in place of its time."""
    rows = [HEADS, ("---",) * len(HEADS), *map(_row, found)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(one: Again) -> tuple[str, ...]:
    then, now = one.winner.then.measurement, one.now.measurement
    assert then is not None, "a winner is timed"
    first = (one.winner.problem.name, one.winner.kernel, _milliseconds(then.kernel.median))
    if now is None or one.now.status is not Status.VERIFIED:
        said = " ".join(f"{one.now.status}: {one.now.error}".replace("|", "\\|").split())[:160]
        return (*first, said, *("–",) * (len(HEADS) - 4))
    torch = now.fastest_torch
    seen = one.now.accuracy
    return (
        *first,
        _milliseconds(now.kernel.median),
        _milliseconds(now.eager.median),
        _milliseconds(now.compile.median) if now.compile else "–",
        _ratio(then.speedup),
        _ratio(now.speedup),
        f"{torch.name}, {_milliseconds(torch.timing.median)}" if torch.timing else "–",
        _ratio(torch.speedup),
        f"{seen.worst_error:.1e} ({seen.eager_error:.1e})" if seen else "–",
        _conditions(now),
    )


def _milliseconds(value: float) -> str:
    return f"{value:.4g} ms"


def _ratio(value: Ratio | None) -> str:
    return f"{value.value:.2f}× ({value.low:.2f}–{value.high:.2f})" if value else "–"


def _conditions(measurement: Measurement) -> str:
    seen = measurement.conditions
    told = [
        f"{seen.clock_mhz:.0f} MHz" if seen and seen.clock_mhz else "",
        f"{seen.power_watts:.0f} W" if seen and seen.power_watts else "",
    ]
    return ", ".join(part for part in told if part) or "–"


# ── the command ─────────────────────────────────────────────────────────────────────────────────


def run(winners: Sequence[Winner]) -> int:
    """Measure and print; Ctrl-C prints what there is until then."""
    found: list[Again] = []
    code = 0
    try:
        found.extend(measured(winners))
    except KeyboardInterrupt:
        code = 130
    if not found:
        print("Nothing was measured.", file=sys.stderr)
        return code or 1
    print(f"On {', '.join(dict.fromkeys(one.device for one in found))}; intervals are 95 %.\n")
    print(table(found))
    wrong = sum(one.now.status is not Status.VERIFIED for one in found)
    print(f"\n{len(found) - wrong} of {len(found)} winners are right here.")
    return code or int(wrong > 0)


def main() -> int:
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replay_h100", description=about)
    commands = parser.add_subparsers(dest="command", required=True)
    preparing = commands.add_parser("prepare", help="write the winners down")
    preparing.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    running = commands.add_parser("run", help="measure them on this machine")
    running.add_argument("file", type=Path, nargs="?", metavar="FILE", help="what `prepare` wrote")
    for command in (preparing, running):
        command.add_argument("--archive", metavar="URL", help="winners of this one; by default of the shipped record")
        command.add_argument("--problem", action="append", metavar="NAME", help="only of this problem; repeatable")
    given = parser.parse_args()
    try:
        listed = vars(given).get("file")
        found = sealed.read(listed, Prepared, "winners") if listed else recorded(given.archive)
        winners = [one for one in found.winners if not given.problem or one.problem.name in given.problem]
        if given.command == "run":
            return run(winners)
        sealed.write(given.output, Prepared(tuple(winners)))
        for one in winners:
            print(f"{one.problem.name} in {one.language}: {one.kernel}, won on {one.device}")
    except TreesearchError as error:
        print(f"Error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
