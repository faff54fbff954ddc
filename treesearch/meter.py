"""The meter that every question passes: what a run's answers took so far, what is in flight, and what is left."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal

from treesearch.errors import LimitReached, Waiting
from treesearch.records import Answer, Budget, Price, Request, Stage

CHARACTERS_PER_TOKEN = 3.5
"""Of prompts and kernels, where nobody counted their tokens."""

EXPECTED = {Stage.IDEAS: 4000, Stage.KERNEL: 8000, Stage.REPAIR: 8000}
"""Tokens of an answer, reasoning included, before one of the run's own is there and where no limit is set."""

WARNINGS = (80, 50)
"""Percent of a limit that are worth a word, the larger first."""


@dataclass(frozen=True)
class Amount:
    """What questions take of a budget."""

    usd: float = 0.0
    tokens: int = 0
    kernels: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.usd + other.usd, self.tokens + other.tokens, self.kernels + other.kernels)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.usd - other.usd, self.tokens - other.tokens, self.kernels - other.kernels)


def dollars(amount: float) -> str:
    """To the cent; below ten cents to two digits, so that no cost looks like none: `$12.34`, `$0.0042`."""
    return f"${amount:.2f}" if amount >= 0.095 or not amount else f"${Decimal(f'{amount:.1e}'):f}"


FIGURES: dict[str, tuple[Callable[[float], str], str]] = {
    "usd": (dollars, ""),
    "tokens": ("{:,.0f}".format, " tokens"),
    "evaluations": ("{:.0f}".format, " evaluations"),
    "minutes": ("{:.1f}".format, " minutes"),
}
"""How a figure of each limit is written, and its unit."""


@dataclass(frozen=True)
class Gauge:
    """How much of one limit is used; `name` is that of the budget's field."""

    name: str
    used: float
    most: float

    @property
    def over(self) -> bool:
        return self.used > self.most + 1e-9  # what sums of dollars are off by

    @property
    def percent(self) -> float:
        return 100 * self.used / self.most

    def __str__(self) -> str:
        figure, unit = FIGURES[self.name]
        return f"{figure(self.used)} of {figure(self.most)}{unit}"

    def exceeded(self, after: Gauge) -> str:
        """That no question may be asked `after` which this much would be used."""
        if self.used >= self.most:
            return f"{self} are used"
        figure, unit = FIGURES[self.name]
        return f"{self} are used, and the next question may take {figure(after.used - self.used)}{unit}"


def tokens(text: str) -> int:
    """How many tokens a text has, roughly."""
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def silent(words: str) -> None:
    """A warning that nobody hears."""


class Meter:
    """Admits questions while the budget allows them, and counts what they took; safe in many threads.

    A question counts from when it is asked: with its estimated tokens at the dearest price, and with its own once its
    answer is there. One that does not fit waits while others are in flight, since they may take less than was
    estimated. `counted` are the answers that the run has already.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        prices: Sequence[Price] = (),
        *,
        listed: Sequence[Price] = (),
        max_tokens: int | None = None,
        counted: Iterable[tuple[Request, Answer]] = (),
        warn: Callable[[str], None] = silent,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`prices` set what answers cost; `listed` ones only say what they may cost. `clock` tells seconds."""
        self._budget = budget or Budget()
        self._prices = {price.model: price for price in prices}
        self._listed = {price.model: price for price in (*listed, *prices)}
        self._max_tokens = max_tokens
        self._longest: dict[Stage, int] = {}
        self._used, self._in_flight = Amount(), Amount()
        self._changed = threading.Condition()
        self._closed = False
        self._warn, self._warned = warn, dict[str, int]()
        self._clock, self._started = clock, clock()
        for request, answer in counted:
            self._used += self._taken(request, answer)
        self._say(self._due())

    @contextmanager
    def asking(self, request: Request) -> Iterator[Callable[[Answer], Answer]]:
        """Inside the block a question is in flight; what it yields counts the answer, and returns it with its price.

        Raises LimitReached where the budget does not allow the question.
        """
        estimate = self._estimate(request)
        answers: list[Answer] = []

        def priced(answer: Answer) -> Answer:
            price = self._prices.get(answer.model)
            answers.append(replace(answer, usage=price.paid(answer.usage)) if price else answer)
            return answers[-1]

        self._admit(estimate)
        try:
            yield priced
        except Waiting:  # it is asked, and its answer is on its way
            self._settle(estimate, estimate)
            raise
        except BaseException:  # Ctrl-C too: whoever failed to get an answer has nothing in flight any more
            self._settle(estimate, Amount())
            raise
        with self._changed:
            taken = sum((self._taken(request, answer) for answer in answers), Amount())
        self._settle(estimate, taken)

    def close(self) -> None:
        """Admit nothing more: questions that wait for their turn are not asked."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    # ── admitting ───────────────────────────────────────────────────────────────────────────────

    def _admit(self, estimate: Amount) -> None:
        with self._changed:
            while True:
                if self._closed:
                    raise LimitReached("the search is over")
                if objection := self._objection(self._used, estimate):
                    raise LimitReached(objection)
                if not self._objection(self._used + self._in_flight, estimate):
                    self._in_flight += estimate
                    return
                self._changed.wait()

    def _objection(self, used: Amount, asked: Amount) -> str:
        """Why a question may not be asked, or nothing."""
        pairs = zip(self._gauges(used), self._gauges(used + asked), strict=True)
        return next((now.exceeded(after) for now, after in pairs if after.over), "")

    def _estimate(self, request: Request) -> Amount:
        """An idea needs a kernel to be worth asking for, so that every question may lead to one."""
        read = tokens(request.prompt)
        written = self._max_tokens or self._longest.get(request.stage) or EXPECTED[request.stage]
        dearest = max((price.of(read, written) for price in self._listed.values()), default=0.0)
        return Amount(dearest, read + written, 1)

    # ── counting ────────────────────────────────────────────────────────────────────────────────

    def _settle(self, estimate: Amount, taken: Amount) -> None:
        with self._changed:
            self._in_flight -= estimate
            self._used += taken
            due = self._due()
            self._changed.notify_all()
        self._say(due)

    def _taken(self, request: Request, answer: Answer) -> Amount:
        """What an answer took; its tokens are estimated where nobody counted them. A question that nobody will answer
        took its place alone."""
        if answer.failure:
            return Amount(kernels=int(request.stage is not Stage.IDEAS))
        read = tokens(request.prompt) if answer.usage.input_tokens is None else answer.usage.input_tokens
        written = tokens(answer.text) if answer.usage.output_tokens is None else answer.usage.output_tokens
        self._longest[request.stage] = max(written, self._longest.get(request.stage, 0))
        price, cost = self._listed.get(answer.model), answer.usage.cost_usd
        if cost is None:
            cost = price.of(read, written) if price else 0.0
        return Amount(cost, read + written, int(request.stage is not Stage.IDEAS))

    # ── telling ─────────────────────────────────────────────────────────────────────────────────

    def _due(self) -> list[str]:
        """A word for each limit of which half, or most, has been used since the last one."""
        due = []
        for gauge in self._gauges(self._used):
            passed = next((percent for percent in WARNINGS if gauge.percent >= percent), 0)
            if passed > self._warned.get(gauge.name, 0):
                self._warned[gauge.name] = passed
                due.append(f"{gauge.percent:.0f} % of the budget is used: {gauge}")
        return due

    def _say(self, due: Sequence[str]) -> None:
        for words in due:
            self._warn(words)

    def _gauges(self, used: Amount) -> list[Gauge]:
        """One for each limit that is set."""
        minutes = (self._clock() - self._started) / 60
        spent = {"usd": used.usd, "tokens": used.tokens, "evaluations": used.kernels, "minutes": minutes}
        limits = {name: getattr(self._budget, name) for name in spent}
        return [Gauge(name, spent[name], most) for name, most in limits.items() if most is not None]
