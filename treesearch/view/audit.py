"""The audit for a terminal: a table of families, the misses, and a line while it runs."""

from __future__ import annotations

import time
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from treesearch.audit import report as reports
from treesearch.audit.judging import Moment
from treesearch.audit.report import Report, Result, Tally

REFRESHES_PER_SECOND = 4
COLOURS = {"caught": "green", "accepted": "green", "missed": "red", "not run": "dim"}


def summary(report: Report, *, verbose: bool = False) -> RenderableType:
    """Families, then every miss (`verbose`: every kernel) with what was expected and what came, then the sums."""
    told = report.results if verbose else report.misses
    *lines, sums = reports.closing(report)
    return Group(_families(report), *map(_result, told), *map(Text, lines), Text(sums, style="bold"))


def _families(report: Report) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for place, column in enumerate(reports.COLUMNS):
        table.add_column(column, justify="right" if place else "left")
    for tally in report.families():
        table.add_row(*reports.row(tally), style=_colour(tally))
    return table


def _colour(tally: Tally) -> str:
    if (tally.caught, tally.accepted) != (tally.hostile, tally.honest):
        return "red"
    return "" if tally.hostile or tally.honest else "dim"


def _result(result: Result) -> Text:
    first, *further = reports.said(result)
    text = Text(first, style=COLOURS[result.outcome])
    return text.append("".join(f"\n{line}" for line in further), style="default")


class Progress:
    """An observer that keeps a live line on a terminal, and prints a line for each kernel anywhere else."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._line = "reading the problems"
        self._started = time.monotonic()
        self._live = Live(
            get_renderable=self._shown, console=console, refresh_per_second=REFRESHES_PER_SECOND, transient=True
        )

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def __call__(self, moment: Moment) -> None:
        self._line = f"{moment.done}/{moment.total} {moment.case.name}"
        result = moment.result
        if result is None or not result.ran:
            return
        if result.outcome == "missed" or not self.console.is_terminal:
            line = f"{moment.done}/{moment.total} {reports.said(result)[0]}"
            self.console.print(Text(line, style=COLOURS[result.outcome]), highlight=False)

    def _shown(self) -> Text:
        seconds = time.monotonic() - self._started
        return Text(f"{self._line} · {seconds:.0f} s", style="bold", no_wrap=True, overflow="ellipsis")
