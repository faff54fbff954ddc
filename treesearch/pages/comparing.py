"""What the page that compares runs says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treesearch.errors import UsageError
from treesearch.pages.study import Study
from treesearch.records import Run
from treesearch.view.progressions import Axis, Progression, along, ticks, unlike

MOST = 8
"""Runs that one page compares."""
UNITS = {
    Axis.ROUND: "round",
    Axis.EVALUATIONS: "kernels judged",
    Axis.DOLLARS: "US dollars",
    Axis.MINUTES: "minutes",
}
"""What each axis is measured in."""


@dataclass(frozen=True)
class Comparison:
    """Runs along one axis."""

    progressions: tuple[Progression, ...]
    axis: Axis
    unlike: str
    """Why their times cannot be compared; empty where they can."""
    others: tuple[Run, ...]
    """Further runs that could be compared with these, newest first."""

    @property
    def runs(self) -> tuple[str, ...]:
        """Their ids."""
        return tuple(one.run.id for one in self.progressions)

    @property
    def unit(self) -> str:
        return UNITS[self.axis]

    @property
    def ticks(self) -> tuple[float, ...]:
        return ticks(self.progressions)

    def without(self, run: str) -> tuple[str, ...]:
        return tuple(id for id in self.runs if id != run)


def axis(name: str) -> Axis:
    """The axis of that name; an empty one means rounds. Raises UsageError for any other."""
    try:
        return Axis(name or Axis.ROUND)
    except ValueError:
        raise UsageError(f"There is no axis {name!r}; there are {', '.join(Axis)}.") from None


def page(studies: Sequence[Study], along_what: Axis, known: Sequence[Run]) -> Comparison:
    """`known` are all runs that there are. Raises UsageError for too few or too many runs to compare."""
    if not 1 <= len(studies) <= MOST:
        raise UsageError(f"A comparison is of one to {MOST} runs; the page of a problem offers its own.")
    found = tuple(_progression(study, along_what) for study in studies)
    named, first = {one.run.id for one in found}, found[0].run
    others = [run for run in known if run.id not in named and not unlike((first, run))]
    return Comparison(found, along_what, unlike([one.run for one in found]), tuple(others))


def _progression(study: Study, along_what: Axis) -> Progression:
    archive, run = study.archive, study.run
    bills = archive.bills(run.id) if along_what is Axis.DOLLARS else ()
    return along(run, study.lineage, along_what, bills, archive.spend(run.id))
