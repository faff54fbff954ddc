"""Whose kernels worked, and how fast they are: by who answered, with what help, and whether to repair a failure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rich.console import Group, RenderableType
from rich.text import Text

from treesearch.archive import Author
from treesearch.records import Entry, Stage
from treesearch.view import text
from treesearch.view.data import Json
from treesearch.view.tables import bare_table

NONE = "none"


@dataclass(frozen=True)
class Tally:
    """The judged kernels that one answerer wrote with one kind of help."""

    by: str
    """Who answered: the name that was given, or else the model that was asked."""
    help: str
    """What was at hand beside the prompt; empty where that was nothing."""
    stage: Stage
    """`kernel`, or `repair`: whoever repairs has read what went wrong."""
    entries: tuple[Entry, ...]

    @property
    def judged(self) -> int:
        return len(self.entries)

    @property
    def verified(self) -> int:
        return sum(entry.verified for entry in self.entries)

    @cached_property
    def speedups(self) -> tuple[float, ...]:
        """Those of verified kernels, over the better of both baselines."""
        judged = [entry.evaluation for entry in self.entries if entry.verified]
        return tuple(one.measurement.speedup.value for one in judged if one and one.measurement)

    @property
    def best(self) -> float | None:
        return max(self.speedups, default=None)

    @property
    def median(self) -> float | None:
        return statistics.median(self.speedups) if self.speedups else None


def tallies(entries: Sequence[Entry], authors: Mapping[str, Author]) -> tuple[Tally, ...]:
    """The judged kernels of `entries` by who wrote them how, most first; those that nobody wrote do not count.

    `authors` are those of the run, by the ids of answered questions.
    """
    wrote: dict[Author, list[Entry]] = {}
    for entry in entries:
        if entry.evaluation and (author := authors.get(entry.kernel.answer)):
            wrote.setdefault(author, []).append(entry)
    found: dict[tuple[str, str, Stage], list[Entry]] = {}
    for author, theirs in wrote.items():
        found.setdefault((author.name, _help(author), author.stage), []).extend(theirs)
    made = [Tally(*how, tuple(theirs)) for how, theirs in found.items()]
    return tuple(sorted(made, key=lambda tally: (-tally.judged, tally.by, tally.help, tally.stage)))


def _help(author: Author) -> str:
    """Whoever had none may have said so in a word."""
    said = author.help.strip()
    return "" if said.lower() == NONE else said


def as_json(found: Sequence[Tally]) -> Json:
    """One object for each; speed-ups are over the better of eager and torch.compile, null where nothing works."""
    return {"answerers": [_json(tally) for tally in found]}


def _json(tally: Tally) -> Json:
    return {
        "by": tally.by,
        "help": tally.help or None,
        "stage": str(tally.stage),
        "judged": tally.judged,
        "verified": tally.verified,
        "verified_rate": tally.verified / tally.judged,
        "best_speedup": tally.best,
        "median_speedup": tally.median,
    }


def table(found: Sequence[Tally]) -> RenderableType:
    """One row for each; nothing where there are not two to compare."""
    if len(found) < 2:
        return Group()
    rows = bare_table("answered by", "help", "asked for", ">judged", ">verified", ">best speed-up", ">median")
    for tally in found:
        rows.add_row(
            Text(text.one_line(tally.by, 60)),
            Text(text.one_line(tally.help, 40) or NONE),
            f"a {tally.stage}",
            str(tally.judged),
            f"{tally.verified} ({text.percent(100 * tally.verified / tally.judged)})",
            *(f"{value:.2f}×" if value else "–" for value in (tally.best, tally.median)),
        )
    return Group("", rows)
