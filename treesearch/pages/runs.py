"""What the page of a run says."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from treesearch.lineage import Conclusion, Lineage, standing
from treesearch.pages.study import Study
from treesearch.records import (
    Category,
    Entry,
    Evaluation,
    Measurement,
    RunState,
    Spending,
)
from treesearch.steps.decide import Fate, fates
from treesearch.view import hardware, text
from treesearch.view.answerers import Tally, tallies
from treesearch.view.data import final_of

DUE = "due"
"""The standing of a kernel that has no verdict yet."""


@dataclass(frozen=True)
class Row:
    """One kernel in a list. Times are in milliseconds, `speedup` is over the better baseline.

    What it says is worked out when it is asked: a page of thousands of kernels lists few of them.
    """

    entry: Entry
    lineage: Lineage
    winning: bool = False
    step: bool = False
    """Whether it was faster than every kernel before it."""

    @property
    def id(self) -> str:
        return self.entry.kernel.id

    @property
    def parent(self) -> str:
        found = self.lineage.parent(self.id)
        return found.kernel.id if found else ""

    @property
    def inspired_by(self) -> tuple[str, ...]:
        return self.lineage.inspirations(self.id)

    @property
    def status(self) -> str:
        """As in words: `verified`, `build failed`, `due`, `re-opened`."""
        return status_of(self.entry)

    @property
    def title(self) -> str:
        return text.idea_title(self.entry)

    @property
    def note(self) -> str:
        """What went wrong, how it stands since, or what a person did; empty where there is nothing to say."""
        return _note(self.entry)

    @property
    def measured(self) -> Measurement | None:
        return self.entry.evaluation.measurement if self.entry.evaluation else None

    @property
    def milliseconds(self) -> float | None:
        return self.entry.milliseconds

    @property
    def speedup(self) -> float | None:
        return self.measured.speedup.value if self.measured else None


@dataclass(frozen=True)
class Step:
    """One kernel of the winning line, numbered from 1, and what it gained over the step before."""

    number: int
    row: Row
    gain: float | None
    """Time of the last step before that has one ÷ its time; None where either is missing."""


@dataclass(frozen=True)
class ByCategory:
    """The ideas of one kind: what they were expected to gain, and what they did."""

    category: Category
    ideas: int
    tried: int
    confirmed: int
    refuted: int
    inconclusive: int
    predicted: float | None
    """Median of the expected speed-ups of those that were tried and measured."""
    measured: float | None
    """Median of their best speed-ups over their parents."""


@dataclass(frozen=True)
class Failure:
    """Kernels of one status that are not verified, with one of them as an example."""

    status: str
    count: int
    example: Row


@dataclass(frozen=True)
class Account:
    """What one model took, over all its answers."""

    model: str
    spending: Spending


@dataclass(frozen=True)
class RunPage:
    """Everything that the page of a run tells."""

    study: Study
    rows: tuple[Row, ...]
    fates: tuple[Fate, ...]
    tallies: tuple[Tally, ...]
    accounts: tuple[Account, ...]
    spent: Spending
    failed_asks: int
    judged: Evaluation | None
    """The winner's verdict in full; None while there is no winner."""
    final: Evaluation | None
    """The winner, measured after the selection."""

    @property
    def live(self) -> bool:
        """Whether the run may still go on by itself."""
        return self.study.run.state is RunState.RUNNING

    @cached_property
    def winner(self) -> Row | None:
        return self.row(self.study.fastest.kernel.id) if self.study.fastest else None

    @cached_property
    def _by_id(self) -> dict[str, Row]:
        return {row.id: row for row in self.rows}

    def row(self, id: str) -> Row:
        return self._by_id[id]

    def listed(self, most: int) -> tuple[Row, ...]:
        """All kernels, or where they are more than that: the winning line, the fastest and the newest."""
        fastest = [self.row(entry.kernel.id) for entry in self.study.lineage.verified()[: most // 2]]
        chosen = dict.fromkeys([*(step.row.id for step in self.steps), *(row.id for row in fastest)])
        chosen |= dict.fromkeys(row.id for row in reversed(self.rows))
        kept = set(list(chosen)[:most])
        return tuple(row for row in self.rows if row.id in kept)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        return tuple(_steps([self.row(entry.kernel.id) for entry in self.study.winning_line]))

    @cached_property
    def categories(self) -> tuple[ByCategory, ...]:
        found = [_by_category(category, self.fates) for category in Category]
        return tuple(one for one in found if one.ideas)

    @cached_property
    def counts(self) -> tuple[tuple[str, int], ...]:
        """How many kernels there are of each status, most first."""
        return tuple(Counter(row.status for row in self.rows).most_common())

    @cached_property
    def failures(self) -> tuple[Failure, ...]:
        first: dict[str, Row] = {}
        for row in self.rows:
            if row.entry.evaluation and not row.entry.verified:
                first.setdefault(row.status, row)
        return tuple(Failure(status, count, first[status]) for status, count in self.counts if status in first)

    @property
    def place(self) -> str:
        """How near the winner comes to the floor; empty where that is not known."""
        return hardware.place(self.study.fastest, self.study.floor) if self.study.fastest else ""


def page(study: Study) -> RunPage:
    archive, run, lineage = study.archive, study.run, study.lineage
    accounts = archive.accounts(run.id)
    winner = study.fastest.kernel.id if study.fastest else ""
    return RunPage(
        study=study,
        rows=tuple(_rows(study)),
        fates=fates(archive, run, lineage),
        tallies=tallies(lineage.entries, archive.authors(run.id)),
        accounts=tuple(_accounts(accounts)),
        spent=_sum(tuple(accounts.values())),
        failed_asks=len(archive.failed_asks(run.id)),
        judged=judged(study, winner) if winner else None,
        final=final_of(archive.remeasurements([winner]), winner, study.device.id) if winner else None,
    )


def judged(study: Study, kernel: str) -> Evaluation | None:
    """A kernel's newest verdict on the run's device, in full; None while it is due."""
    verdicts = [one for one in study.archive.evaluations(kernel) if one.device == study.device.id]
    return verdicts[-1] if verdicts else None


def _rows(study: Study) -> Iterator[Row]:
    winning, best = {entry.kernel.id for entry in study.winning_line}, float("inf")
    for entry in study.lineage.entries:
        step = entry.verified and entry.milliseconds is not None and entry.milliseconds < best
        if step and entry.milliseconds is not None:
            best = entry.milliseconds
        yield Row(entry, study.lineage, entry.kernel.id in winning, step)


def status_of(entry: Entry) -> str:
    return text.status(entry.evaluation.status) if entry.evaluation else str(standing(entry) or DUE)


def _note(entry: Entry) -> str:
    failed = entry.evaluation is not None and not entry.verified
    why = text.reason(entry.evaluation, 160) if entry.evaluation and failed else ""
    return "; ".join(filter(None, (text.standing(entry) or why, text.by_hand(entry.kernel.proposal))))


def _steps(line: Sequence[Row]) -> Iterator[Step]:
    before: float | None = None
    for number, one in enumerate(line, start=1):
        gain = before / one.milliseconds if before and one.milliseconds else None
        yield Step(number, one, gain)
        before = one.milliseconds or before


def _by_category(category: Category, found: Sequence[Fate]) -> ByCategory:
    ours = [one for one in found if one.idea.category is category]
    outcomes = [one.outcome for one in ours if one.outcome]
    measured = [one for one in outcomes if one.ratio is not None]
    concluded = Counter(one.conclusion for one in outcomes)
    return ByCategory(
        category=category,
        ideas=len(ours),
        tried=len(outcomes),
        confirmed=concluded[Conclusion.CONFIRMED],
        refuted=concluded[Conclusion.REFUTED],
        inconclusive=concluded[Conclusion.INCONCLUSIVE],
        predicted=_median([one.idea.expected_speedup for one in measured]),
        measured=_median([one.ratio for one in measured if one.ratio is not None]),
    )


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _accounts(spent: Mapping[str, Spending]) -> Iterator[Account]:
    """Spending by who answered, most answers first."""
    for model, bills in sorted(spent.items(), key=lambda item: (-item[1].answers, item[0])):
        if model:
            yield Account(model, bills)


def _sum(bills: Sequence[Spending]) -> Spending:
    """Sums over those that tell, as in an archive's `spend`."""
    if not bills:
        return Spending()
    asked = [one.input_tokens for one in bills if one.input_tokens is not None]
    said = [one.output_tokens for one in bills if one.output_tokens is not None]
    paid = [one.cost_usd for one in bills if one.cost_usd is not None]
    return Spending(
        sum(one.answers for one in bills),
        sum(one.unpriced for one in bills),
        sum(asked) if asked else None,
        sum(said) if said else None,
        sum(paid) if paid else None,
    )
