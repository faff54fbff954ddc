"""A search while it runs: a line for everything that happened, and live lines for what is going on."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import singledispatchmethod
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from treesearch.errors import ArchiveError
from treesearch.events import (
    Asking,
    BudgetUsed,
    Event,
    IdeasChosen,
    Judged,
    Moved,
    Preparing,
    Replaying,
    RoundBegan,
    RunOpened,
    Step,
    Stopped,
)
from treesearch.models.providers import PROVIDERS
from treesearch.records import Budget, Entry, Run, Spending, Status
from treesearch.roofline import Floor
from treesearch.view import hardware, text
from treesearch.view.tables import COLOURS

REFRESHES_PER_SECOND = 4
STATUS_WIDTH = 1 + max(len(text.status(status)) for status in Status)


def unknown(run: Run) -> Floor | None:
    """The floor where nobody works it out."""
    return None


class Progress:
    """An observer that prints to a terminal, or plain lines where standard error is not one."""

    def __init__(
        self, console: Console, spend: Callable[[str], Spending], floor: Callable[[Run], Floor | None] = unknown
    ) -> None:
        """`spend` tells what a run (by id) has cost so far, `floor` the roofline floor of a run that was opened."""
        self.console = console
        self._spend = spend
        self._floor_of = floor
        self._floor: Floor | None = None
        self._run = ""
        self._lock = threading.Lock()
        self._spent, self._budget = Spending(), Budget()
        self._round, self._rounds, self._ideas, self._missed = -1, 0, 0, 0
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
        """Take the live lines away; lines already printed stay."""
        self._live.stop()
        if self._missed:
            self._print(f"without a recorded answer, and so left out: {text.count(self._missed, 'request')}", "dim")
            self._missed = 0

    def __call__(self, event: Event) -> None:
        with self._lock:
            self._take(event)

    @singledispatchmethod
    def _take(self, event: Event) -> None:
        raise TypeError(f"there is no such event: {event!r}")

    @_take.register
    def _(self, event: RunOpened) -> None:
        self._run, self._budget = event.run.id, event.run.config.budget
        kept = f"; continuing with {text.count(len(event.entries), 'kernel')} from before" if event.entries else ""
        models = text.one_line(", ".join(event.run.config.named_models))
        name, language = text.one_line(event.run.problem_name), event.run.config.language
        self._print(f"run {event.run.id} on {name} in {language}, models: {models}{kept}")
        with contextlib.suppress(ArchiveError):  # a store that is busy costs a figure, not the search
            self._floor = self._floor_of(event.run)
        if self._floor:
            self._print(hardware.floor(self._floor))

    @_take.register
    def _(self, event: Replaying) -> None:
        recording = text.one_line(event.recording)
        self._print(
            f"Replaying recorded answers ({recording}); builds, checks and timings are live on this machine. "
            f"To search for real: --model {PROVIDERS[0].model} with {PROVIDERS[0].keys[0]} set, or --model file/DIR."
        )

    @_take.register
    def _(self, event: RoundBegan) -> None:
        self._round, self._rounds, self._ideas = event.number, event.rounds, 0
        self._steps.clear()
        self._judged = 0
        what = "from " + ", ".join(
            f"{parent.kernel.id} ({text.milliseconds(parent.milliseconds)})" for parent in event.parents
        )
        self._print(f"round {event.number} of {event.rounds}: {what if event.parents else 'first kernels'}", "bold")

    @_take.register
    def _(self, event: IdeasChosen) -> None:
        self._ideas = sum(not proposal.dropped for proposal in event.proposals)
        self._steps.clear()  # those of the questions that brought the ideas
        for proposal in event.proposals:
            dropped = f" (dropped: {text.one_line(proposal.dropped, 60)})" if proposal.dropped else ""
            label = f" ({said})" if (said := text.by_hand(proposal)) else ""
            self._print(f"  idea {proposal.ordinal}  {text.one_line(proposal.idea.title, 90)}{label}{dropped}", "cyan")

    @_take.register
    def _(self, event: Moved) -> None:
        self._steps[event.number, event.ordinal] = event.step
        self._missed += event.step is Step.MISSED

    @_take.register
    def _(self, event: Preparing) -> None:
        self._doing = event.what
        self._print(f"  {event.what} …", "dim")

    @_take.register
    def _(self, event: Asking) -> None:
        self._print(f"  no answer: {text.one_line(event.error)}", "yellow")

    @_take.register
    def _(self, event: BudgetUsed) -> None:
        self._print(f"  {event.words}", "yellow")

    @_take.register
    def _(self, event: Stopped) -> None:
        self._print(f"stopped: {text.one_line(event.reason)}", "bold")

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
        line.append(f"{text.status(judged.status):<{STATUS_WIDTH}}", style=COLOURS.get(judged.status, "red"))
        if judged.measurement:
            line.append(f"{text.milliseconds(judged.milliseconds):>10}  {_against(entry)}  {text.idea_title(entry)}")
        else:
            line.append(text.reason(judged, 120))
        self.console.print(line, highlight=False)

    def _print(self, message: str, style: str = "") -> None:
        self.console.print(Text(message, style=style), highlight=False)

    def _line(self) -> Text:
        """The live lines: where the round stands; the best so far and what it cost; what takes a while.

        Drawn by a thread of its own, which must not wait for our lock: whoever holds it may be waiting to print.
        """
        overall = [self._best_so_far(), self._cost(), f"{time.monotonic() - self._started:.0f} s"]
        line = Text(f"{self._standing()}\n{' · '.join(part for part in overall if part)}", style="bold")
        line.no_wrap, line.overflow = True, "ellipsis"
        return line.append(f"\n{self._doing} …", style="dim") if self._doing else line

    def _standing(self) -> str:
        """Round, ideas, and candidates by stage."""
        if self._round < 0:
            return "starting"
        counts = Counter(list(self._steps.values()))
        parts = [f"round {self._round}/{self._rounds}"]
        parts += [text.count(self._ideas, "idea")] if self._ideas else []
        parts += [f"{count} {step}" for step in Step if (count := counts[step])]
        parts += [f"{self._judged} judged"] if self._judged else []
        return " · ".join(parts)

    def _best_so_far(self) -> str:
        best = self._best
        if best is None:
            return ""
        said = (text.milliseconds(best.milliseconds), _against(best), hardware.place(best, self._floor))
        return "best " + ", ".join(part for part in said if part)

    def _cost(self) -> str:
        """What the run has cost; a store that is busy for a moment only delays the figure."""
        if not self._run:
            return ""
        with contextlib.suppress(ArchiveError):
            self._spent = self._spend(self._run)
        return text.spend(self._spent, self._budget)


def _against(entry: Entry) -> str:
    measured = entry.evaluation.measurement if entry.evaluation else None
    if measured is None:
        return ""
    compiled = f", {measured.compile_speedup.value:.2f}× compile" if measured.compile_speedup else ""
    return f"{measured.eager_speedup.value:.2f}× eager{compiled}"
