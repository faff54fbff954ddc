"""What searches teach about searching: which kinds of ideas paid, how good predictions were, when winners appeared.

    python -m benchmarks.findings [--archive URL]… [--run RUN]… [-o DIR]

Prints Markdown tables about runs of the shipped record, or of other archives; with `-o` it also draws them, as SVG
files in that folder. What came of an idea is what its best kernel did, repairs included.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from treesearch import resources
from treesearch.archive import Archive
from treesearch.errors import TreesearchError, UsageError
from treesearch.likeness import Subjects
from treesearch.lineage import Conclusion, Lineage, Outcome
from treesearch.records import Answer, Category, Entry, Proposal, Relation, Request, Run, Status

Row = tuple[str, ...]


@dataclass(frozen=True)
class Tried:
    """An idea that was tried, and what came of it."""

    problem: str
    round: int
    outcome: Outcome

    @property
    def category(self) -> Category:
        return self.outcome.idea.category


@dataclass(frozen=True)
class Searched:
    """A run with all that findings are made of."""

    run: Run
    lineage: Lineage
    proposals: tuple[Proposal, ...]
    answered: tuple[tuple[Request, Answer], ...]

    @property
    def name(self) -> str:
        return self.run.problem_name

    @property
    def judged(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.lineage.entries if entry.evaluation)

    @property
    def rounds(self) -> range:
        return range(max((entry.kernel.round for entry in self.judged), default=-1) + 1)

    def of_round(self, number: int) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.judged if entry.kernel.round == number)

    def best_until(self, number: int) -> float | None:
        """The speed-up over the better of eager and torch.compile of the fastest kernel up to a round."""
        fastest = next((entry for entry in self.lineage.verified() if entry.kernel.round <= number), None)
        measured = fastest.evaluation.measurement if fastest and fastest.evaluation else None
        return measured.speedup.value if measured else None

    @property
    def tried(self) -> tuple[Tried, ...]:
        bases = self.lineage.bases()
        outcomes = (one for base in bases for one in self.lineage.outcomes(base.kernel.id))
        return tuple(Tried(self.name, one.best.kernel.round, one) for one in outcomes)


def read(archives: Sequence[str], names: Sequence[str] = ()) -> tuple[Searched, ...]:
    """The runs of these archives, all or those named, oldest first; one that several hold counts once."""
    found: dict[str, Searched] = {}
    for place in archives or [str(resources.record())]:
        with Archive(place, read_only=True) as archive:
            for run in reversed(archive.runs()):
                if not names or run.id in names or run.problem_name in names:
                    found[run.id] = Searched(
                        run, archive.lineage(run.id), archive.proposals(run.id), archive.answers(run.id)
                    )
    if not found:
        raise UsageError("No run is there to be looked at; `treesearch show --archive URL` lists those of an archive.")
    return tuple(found.values())


# ── what is told ────────────────────────────────────────────────────────────────────────────────


def report(found: Sequence[Searched]) -> str:
    """Every table, under headings."""
    tried = [one for search in found for one in search.tried]
    parts = (
        ("Which kinds of ideas paid", categories(tried)),
        ("What was expected, and what came", predictions(tried)),
        ("Round by round", rounds(found)),
        ("Which ideas came twice in a round", repeats(found)),
        ("Where winners came from", winners(found)),
        ("What failed, and what repairs did", repairs(found)),
        ("What was asked", asked(found)),
    )
    return "\n\n".join(f"### {heading}\n\n{table(rows)}" for heading, rows in parts) + "\n"


def categories(tried: Sequence[Tried]) -> Iterator[Row]:
    yield "category", "ideas", "confirmed", "refuted", "inconclusive", "median", "best"
    for category in Category:
        mine = [one for one in tried if one.category is category]
        ends = Counter(one.outcome.conclusion for one in mine)
        ratios = [one.outcome.ratio for one in mine if one.outcome.ratio]
        yield (
            category,
            str(len(mine)),
            *(str(ends[one]) for one in Conclusion),
            times(statistics.median(ratios) if ratios else None),
            times(max(ratios, default=None)),
        )


def predictions(tried: Sequence[Tried]) -> Iterator[Row]:
    """By how much was expected, since bold ideas are to be told from safe ones."""
    yield "expected", "ideas", "worked", "median expected", "median of the best", "reached what was expected"
    for name, low, high in (("up to 1.1×", 0.0, 1.1), ("1.1× to 1.5×", 1.1, 1.5), ("above 1.5×", 1.5, float("inf"))):
        mine = [one.outcome for one in tried if low < one.outcome.idea.expected_speedup <= high]
        known = [(one.idea.expected_speedup, one.ratio) for one in mine if one.ratio]
        reached = sum(ratio >= expected for expected, ratio in known)
        yield (
            name,
            str(len(mine)),
            str(len(known)),
            times(statistics.median(one.idea.expected_speedup for one in mine) if mine else None),
            times(statistics.median(ratio for _, ratio in known) if known else None),
            f"{reached} of {len(known)}",
        )


def rounds(found: Sequence[Searched]) -> Iterator[Row]:
    last = max(len(search.rounds) for search in found)
    yield "problem", *(f"round {number}" for number in range(last))
    for search in found:
        cells = [_round(search, number) if number in search.rounds else "–" for number in range(last)]
        yield search.name, *cells


def _round(search: Searched, number: int) -> str:
    judged = search.of_round(number)
    verified = sum(entry.verified for entry in judged)
    return f"{times(search.best_until(number))}; {verified} of {len(judged)} right"


def repeats(found: Sequence[Searched]) -> Iterator[Row]:
    """Ideas about the subject of another that was tried in their round, and whether their parent had a choice."""
    yield "problem", "ideas tried", "about the same as one before them in their round", "another was there"
    for search in found:
        tried = [one for one in search.proposals if not one.dropped]
        again = [one for one in tried if _repeats(search.proposals, one)]
        chosen = [one for one in again if _others(search.proposals, one)]
        yield search.name, str(len(tried)), str(len(again)), f"{len(chosen)} of {len(again)}"


def _repeats(proposals: Sequence[Proposal], one: Proposal, beside: Proposal | None = None) -> bool:
    """Whether `one` is about the same as an idea that was tried before it (or before `beside`) in its round."""
    place = beside or one
    subjects = Subjects(other.idea for other in proposals if other.round <= one.round)
    earlier = (other for other in proposals if other.round == one.round and other.ordinal < place.ordinal)
    return bool(subjects.shared(one.idea, [other.idea for other in earlier if not other.dropped]))


def _others(proposals: Sequence[Proposal], one: Proposal) -> bool:
    """Whether the same answer had an idea that was not tried and about something else."""
    left = (other for other in proposals if other.answer == one.answer and other.dropped)
    return any(not _repeats(proposals, other, one) for other in left)


def winners(found: Sequence[Searched]) -> Iterator[Row]:
    yield (
        "problem",
        "winner",
        "round",
        "speed-up",
        "steps from a first kernel",
        "of them repairs",
        "kinds on the way",
    )
    for search in found:
        winner = search.lineage.fastest()
        if winner is None:
            yield search.name, "–", "–", "–", "–", "–", "–"
            continue
        path = search.lineage.path(winner.kernel.id)
        relations = [search.lineage.relation(entry.kernel.id) for entry in path]
        kinds = dict.fromkeys(entry.kernel.idea.category for entry in path if entry.kernel.idea)
        yield (
            search.name,
            f"`{winner.kernel.id}`",
            f"{winner.kernel.round} of {search.run.config.rounds}",
            times(search.best_until(winner.kernel.round)),
            str(len(path) - 1),
            str(relations.count(Relation.REPAIRS)),
            ", ".join(kinds) or "–",
        )


def repairs(found: Sequence[Searched]) -> Iterator[Row]:
    yield (
        "what failed",
        "kernels",
        "repairs judged",
        "repairs that work",
        "… faster than what the idea was about",
    )
    statuses = [status for status in Status if status is not Status.VERIFIED]
    for status in statuses:
        failed = [(s.lineage, e) for s in found for e in s.judged if e.evaluation and e.evaluation.status is status]
        mended = [(line, one) for line, entry in failed for one in _repairs(line, entry) if one.evaluation]
        if not failed:
            continue
        yield (
            str(status).replace("_", " "),
            str(len(failed)),
            str(len(mended)),
            str(sum(one.verified for _, one in mended)),
            str(sum(_gained(line, one) for line, one in mended)),
        )


def _repairs(lineage: Lineage, entry: Entry) -> tuple[Entry, ...]:
    return lineage.children(entry.kernel.id, (Relation.REPAIRS,))


def _gained(lineage: Lineage, entry: Entry) -> bool:
    base = lineage.refined(entry.kernel.id)
    if not entry.verified or not entry.milliseconds or base is None or not base.milliseconds:
        return False
    return base.milliseconds / entry.milliseconds > 1


def asked(found: Sequence[Searched]) -> Iterator[Row]:
    yield "problem", "answers", "ideas", "kernels", "repairs", "characters asked", "characters answered", "tokens"
    for search in found:
        stages = Counter(str(request.stage) for request, _ in search.answered)
        tokens = [
            (answer.usage.input_tokens or 0) + (answer.usage.output_tokens or 0)
            for _, answer in search.answered
            if answer.usage.output_tokens is not None
        ]
        yield (
            search.name,
            str(len(search.answered)),
            *(str(stages[stage]) for stage in ("ideas", "kernel", "repair")),
            f"{sum(len(request.prompt) for request, _ in search.answered):,}",
            f"{sum(len(answer.text) for _, answer in search.answered):,}",
            f"{sum(tokens):,}" if len(tokens) == len(search.answered) else "not counted",
        )


def times(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}×"


def table(rows: Iterable[Row]) -> str:
    heads, *others = rows
    lines = [heads, ("---", *("---:" for _ in heads[1:])), *others]
    return "\n".join(f"| {' | '.join(cell.replace('|', '∣') for cell in row)} |" for row in lines)


# ── the command ─────────────────────────────────────────────────────────────────────────────────


def main() -> int:
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.findings", description=about)
    parser.add_argument("--archive", action="append", default=[], metavar="URL", help="repeatable; else the record")
    parser.add_argument("--run", action="append", default=[], metavar="RUN", help="an id or a problem; repeatable")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="draw into that folder too")
    given = parser.parse_args()
    try:
        found = read(given.archive, given.run)
    except TreesearchError as error:
        print(f"Error: {error}", file=sys.stderr)
        return error.exit_code
    print(report(found), end="")
    if given.output:
        from benchmarks import plots

        for path in plots.draw(found, given.output):
            print(f"drawn: {path}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
