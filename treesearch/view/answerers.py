"""Whose kernels worked, and how fast they are: by who answered, with what help, and whether to repair a failure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from treesearch.records import Answer, Entry, Request, Stage
from treesearch.view import text
from treesearch.view.data import Json
from treesearch.view.tables import answerer, bare_table

NONE = "none"

Exchange = tuple[Request, Answer]


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

    @property
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


def tallies(entries: Sequence[Entry], answered: Sequence[Exchange]) -> tuple[Tally, ...]:
    """The judged kernels of `entries` by who wrote them how, most first; those that nobody wrote do not count."""
    given = {request.id: (request, answer) for request, answer in answered if not answer.failure}
    found: dict[tuple[str, str, Stage], list[Entry]] = {}
    for entry in entries:
        if entry.evaluation and entry.kernel.answer in given:
            request, answer = given[entry.kernel.answer]
            found.setdefault((answerer(answer), _help(answer), request.stage), []).append(entry)
    made = [Tally(*how, tuple(wrote)) for how, wrote in found.items()]
    return tuple(sorted(made, key=lambda tally: (-tally.judged, tally.by, tally.help, tally.stage)))


def _help(answer: Answer) -> str:
    """Whoever had none may have said so in a word."""
    said = answer.help.strip()
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
