"""How runs came to their winners: the best kernel so far along one axis. Pure data, for tables and for charts."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import accumulate

from treesearch.archive import Archive, Bill
from treesearch.lineage import Lineage, Reviewed
from treesearch.records import Entry, Evaluation, Run, Spending
from treesearch.view import text

MOST_TICKS = 10
CHANGED = "their problem has been changed in between"


class Axis(StrEnum):
    """What a search is measured by."""

    ROUND = "round"
    EVALUATIONS = "evaluations"
    """Kernels judged so far."""
    DOLLARS = "dollars"
    """What answers had cost when the verdict was given."""
    MINUTES = "minutes"
    """Wall time from the run's beginning to the verdict, pauses included."""


@dataclass(frozen=True)
class Point:
    """A kernel that was faster than all before it."""

    value: float
    """Along the axis."""
    milliseconds: float
    speedup: float
    """Over the better of eager and torch.compile, as it was measured with this kernel."""
    kernel: str


@dataclass(frozen=True)
class Progression:
    """A run along one axis: its best kernel so far, as kernels count today."""

    run: Run
    axis: Axis
    points: tuple[Point, ...]
    """One for each kernel that was faster than all before it; none where the axis is unknown."""
    end: float | None
    """How far along the axis the last verdict is; None where that is unknown, or nothing was judged."""
    unknown: str
    """Why nothing can be said along this axis; empty where it can."""
    judged: int
    verified: int
    spent: Spending
    winner: Entry | None

    def at(self, value: float) -> Point | None:
        """The best at a place of the axis; None before the first and beyond the end."""
        if self.end is None or value > self.end:
            return None
        place = bisect_right(self.points, value, key=lambda point: point.value)
        return self.points[place - 1] if place else None


def progression(store: Archive, run: Run, axis: Axis) -> Progression:
    """A run of an archive along an axis."""
    bills = store.bills(run.id) if axis is Axis.DOLLARS else ()
    return along(run, store.outline(run.id), axis, bills, store.spend(run.id))


def along(run: Run, lineage: Lineage, axis: Axis, bills: Sequence[Bill], spent: Spending) -> Progression:
    """A run along an axis. `bills` are what its answers cost, oldest first; only the dollars need them."""
    judged = [(entry, verdict) for entry in lineage.entries if (verdict := _verdict(entry))]
    unknown = _unknown(axis, run, [verdict for _, verdict in judged], bills)
    placed = [] if unknown else _placed(axis, run, judged, bills)
    return Progression(
        run,
        axis,
        tuple(_improvements(placed)),
        max((value for value, _ in placed), default=None),
        unknown,
        len(judged),
        len(lineage.verified()),
        spent,
        lineage.fastest(),
    )


def unlike(runs: Sequence[Run]) -> str:
    """Why the times of these runs cannot be compared; empty where they can."""
    if len({run.problem for run in runs}) > 1:
        names = dict.fromkeys(text.one_line(run.problem_name, 60) for run in runs)
        return f"they are of different problems ({', '.join(names)})" if len(names) > 1 else CHANGED
    return "they are of different devices" if len({run.device for run in runs}) > 1 else ""


def ticks(found: Sequence[Progression]) -> tuple[float, ...]:
    """Places of the axis to look at, in steps of 1, 2 or 5 times a power of ten; the last is the furthest end."""
    furthest = max((one.end for one in found if one.end is not None), default=None)
    if furthest is None:
        return ()
    whole = found[0].axis in (Axis.ROUND, Axis.EVALUATIONS)
    step = _step(furthest, whole)
    first = 0 if found[0].axis is Axis.ROUND else 1
    inner = [number * step for number in range(first, MOST_TICKS + 1) if number * step < furthest]
    return (*inner, furthest)


def _step(furthest: float, whole: bool) -> float:
    """The smallest step with which all of the axis takes few ticks."""
    least = furthest / (MOST_TICKS - 1)
    if least <= 0 or (whole and least <= 1):
        return 1
    power = 10.0 ** math.floor(math.log10(least))
    return next(step for step in (power, 2 * power, 5 * power, 10 * power) if step >= least)


def _verdict(entry: Entry) -> Evaluation | None:
    """The newest, whether or not it still counts."""
    return entry.judged if isinstance(entry, Reviewed) else entry.evaluation


def _unknown(axis: Axis, run: Run, verdicts: Sequence[Evaluation], bills: Sequence[Bill]) -> str:
    unpriced = sum(bill.cost_usd is None for bill in bills)
    if axis is Axis.DOLLARS and unpriced:
        return f"{unpriced} of {text.count(len(bills), 'answer')} unpriced"
    if axis in (Axis.DOLLARS, Axis.MINUTES) and any(verdict.created < run.created for verdict in verdicts):
        return "the clock of the machine that judged is behind"
    return ""


def _placed(
    axis: Axis, run: Run, judged: Sequence[tuple[Entry, Evaluation]], bills: Sequence[Bill]
) -> list[tuple[float, Entry]]:
    """Every judged kernel with its place along the axis, which is known, in order."""
    ordered = sorted(judged, key=lambda one: (one[0].kernel.round, one[1].created))
    entries = [entry for entry, _ in ordered]
    if axis is Axis.ROUND:
        return [(entry.kernel.round, entry) for entry in entries]
    if axis is Axis.EVALUATIONS:
        return list(enumerate(entries, 1))
    when = [verdict.created for _, verdict in ordered]
    values = _dollars(when, bills) if axis is Axis.DOLLARS else [_minutes(run.created, one) for one in when]
    return sorted(zip(values, entries, strict=True), key=lambda one: one[0])


def _dollars(when: Sequence[str], bills: Sequence[Bill]) -> list[float]:
    paid = list(accumulate((bill.cost_usd or 0.0 for bill in bills), initial=0.0))
    dates = [bill.created for bill in bills]
    return [paid[bisect_right(dates, moment)] for moment in when]


def _minutes(start: str, moment: str) -> float:
    return (datetime.fromisoformat(moment) - datetime.fromisoformat(start)).total_seconds() / 60


def _improvements(placed: Sequence[tuple[float, Entry]]) -> Iterator[Point]:
    best = math.inf
    for value, entry in placed:
        measured = entry.evaluation.measurement if entry.evaluation and entry.verified else None
        if measured and measured.kernel.median < best:
            best = measured.kernel.median
            yield Point(value, best, measured.speedup.value, entry.kernel.id)
