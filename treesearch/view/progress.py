"""A search while it runs: a line for everything that happened, and one live line for what is going on."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import singledispatchmethod
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from treesearch.events import (
    Asking,
    Event,
    IdeasChosen,
    Judged,
    Moved,
    Preparing,
    Replaying,
    RoundBegan,
    RunOpened,
    Step,
)
from treesearch.records import Entry, Usage
from treesearch.view import text
from treesearch.view.tables import COLOURS

REFRESHES_PER_SECOND = 4


class Progress:
    """An observer that prints to a terminal, or plain lines where standard error is not one."""

    def __init__(self, console: Console, spend: Callable[[str], Usage]) -> None:
        """`spend` tells what a run (by id) has cost so far."""
        self.console = console
        self._spend = spend
        self._run = ""
        self._lock = threading.Lock()
        self._round, self._rounds, self._ideas = 0, 0, 0
        self._steps: dict[tuple[int, str], Step] = {}
        self._judged = 0
        self._best: Entry | None = None
        self._doing = ""
        self._started = time.monotonic()
        self._live = Live(
            get_renderable=self._line, console=console, refresh_per_second=REFRESHES_PER_SECOND, transient=True
        )

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Take the live line away; lines already printed stay."""
        self._live.stop()

    def __call__(self, event: Event) -> None:
        with self._lock:
            self._take(event)

    @singledispatchmethod
    def _take(self, event: Event) -> None:
        raise TypeError(f"there is no such event: {event!r}")

    @_take.register
    def _(self, event: RunOpened) -> None:
        self._run = event.run.id
        kept = f"; continuing, {len(event.entries)} kernels are there already" if event.entries else ""
        self._print(
            f"run {event.run.id} on {event.run.problem_name}, models: {', '.join(event.run.config.models)}{kept}"
        )

    @_take.register
    def _(self, event: Replaying) -> None:
        self._print(f"answers are replayed ({event.recording}); builds, checks and timings are live on this machine")

    @_take.register
    def _(self, event: RoundBegan) -> None:
        self._round, self._rounds, self._ideas = event.number, event.rounds, 0
        self._steps.clear()
        self._judged = 0
        what = "from " + ", ".join(
            f"{parent.kernel.id} ({text.milliseconds(parent.milliseconds)})" for parent in event.parents
        )
        self._print(
            f"round {event.number} of {event.rounds}: {what if event.parents else 'straightforward kernels'}", "bold"
        )

    @_take.register
    def _(self, event: IdeasChosen) -> None:
        self._ideas = sum(not proposal.dropped for proposal in event.proposals)
        for proposal in event.proposals:
            dropped = f" (dropped: {text.one_line(proposal.dropped, 60)})" if proposal.dropped else ""
            self._print(f"  idea {proposal.ordinal}  {text.one_line(proposal.idea.title, 90)}{dropped}", "cyan")

    @_take.register
    def _(self, event: Moved) -> None:
        self._steps[event.number, event.ordinal] = event.step

    @_take.register
    def _(self, event: Preparing) -> None:
        self._doing = event.what
        self._print(f"  {event.what} …", "dim")

    @_take.register
    def _(self, event: Asking) -> None:
        self._print(f"  asking again: {text.one_line(event.error)}", "yellow")

    @_take.register
    def _(self, event: Judged) -> None:
        entry = event.entry
        self._doing = ""
        self._steps.pop((entry.kernel.round, entry.kernel.ordinal), None)
        self._judged += 1
        if entry.verified and (self._best is None or (entry.milliseconds or 0) < (self._best.milliseconds or 0)):
            self._best = entry
        if event.fresh:
            self._print_verdict(entry)

    def _print_verdict(self, entry: Entry) -> None:
        judged = entry.evaluation
        assert judged is not None
        line = Text(f"  {entry.kernel.ordinal:<7}")
        line.append(f"{text.status(judged.status):<13}", style=COLOURS.get(judged.status, "red"))
        if judged.measurement:
            line.append(f"{text.milliseconds(judged.milliseconds):>9}  {_against(entry)}  {text.idea_title(entry)}")
        else:
            line.append(text.one_line(judged.error, 120))
        self.console.print(line, highlight=False)

    def _print(self, message: str, style: str = "") -> None:
        self.console.print(Text(message, style=style), highlight=False)

    def _line(self) -> Text:
        """The live line: where the round stands, the best so far, what it cost."""
        counts = Counter(self._steps.values())
        stages = [f"{count} {step}" for step in Step if (count := counts[step])]
        parts = [f"round {self._round}/{self._rounds}"]
        parts += [f"{self._ideas} ideas"] if self._ideas else []
        parts += [*stages, f"{self._judged} judged"]
        if self._best is not None:
            parts.append(f"best {text.milliseconds(self._best.milliseconds)} {_against(self._best)}")
        parts.append(text.spend(self._spend(self._run)) if self._run else "")
        parts.append(f"{time.monotonic() - self._started:.0f} s")
        line = Text(" · ".join(part for part in parts if part), style="bold")
        return line.append(f"\n{self._doing} …", style="dim") if self._doing else line


def _against(entry: Entry) -> str:
    measured = entry.evaluation.measurement if entry.evaluation else None
    if measured is None:
        return ""
    compiled = f", {measured.compile_speedup.value:.2f}× compile" if measured.compile_speedup else ""
    return f"{measured.eager_speedup.value:.2f}× eager{compiled}"
