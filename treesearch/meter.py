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
from treesearch.records import Answer, Budget, Price, Request, Stage, Turn, Usage

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
    estimated. `counted` are the answers that the run has already, `unanswered` turns that led to none.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        prices: Sequence[Price] = (),
        *,
        listed: Sequence[Price] = (),
        max_tokens: int | None = None,
        counted: Iterable[tuple[Request, Answer]] = (),
        unanswered: Iterable[Turn] = (),
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
        for turn in unanswered:
            self._used += self._bill(turn.model, turn.usage, ("", turn.message))
        self._say(self._due())

    @contextmanager
    def asking(self, request: Request) -> Iterator[Ticket]:
        """Inside the block a question is in flight; the ticket prices and counts what comes of it.

        Raises LimitReached where the budget does not allow the question.
        """
        estimate = self._estimate(request)
        ticket = Ticket(self, request, estimate)
        self._admit(estimate)
        try:
            yield ticket
        except Waiting:  # it is asked, and its answer is on its way
            self._settle(ticket.reserved, ticket.reserved)
            raise
        except BaseException:  # Ctrl-C too: whoever failed to get an answer has nothing in flight any more
            self._settle(ticket.reserved, Amount())
            raise
        with self._changed:
            taken = sum((self._taken(request, answer) for answer in ticket.answers), Amount())
        self._settle(ticket.reserved, taken)

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

    def _extended(self, ticket: Ticket, conversation: str) -> bool:
        """Whether the budget has room for one more call after that which reads `conversation`; then both are in flight.

        If not, the one is all the same: a question that was admitted gets its answer.
        """
        with self._changed:
            read, written = tokens(ticket.request.prompt + conversation), self._written(ticket.request.stage)
            one = Amount(self._dearest(read, written), read + written, 1)
            both = one + Amount(self._dearest(read + written, written), read + 2 * written)
            self._in_flight -= ticket.reserved
            fits = not self._closed and not self._objection(self._used + self._in_flight, both)
            ticket.reserved = both if fits else one
            self._in_flight += ticket.reserved
            self._changed.notify_all()
        return fits

    def _heard(self, ticket: Ticket, turn: Turn) -> None:
        with self._changed:
            written = turn.usage.output_tokens or 0
            self._longest[ticket.request.stage] = max(written, self._longest.get(ticket.request.stage, 0))
            self._used += self._bill(turn.model, turn.usage, (ticket.request.prompt, turn.message))
            due = self._due()
        self._say(due)

    def _objection(self, used: Amount, asked: Amount) -> str:
        """Why a question may not be asked, or nothing."""
        pairs = zip(self._gauges(used), self._gauges(used + asked), strict=True)
        return next((now.exceeded(after) for now, after in pairs if after.over), "")

    def _estimate(self, request: Request) -> Amount:
        """An idea needs a kernel to be worth asking for, so that every question may lead to one."""
        read, written = tokens(request.prompt), self._written(request.stage)
        return Amount(self._dearest(read, written), read + written, 1)

    def _written(self, stage: Stage) -> int:
        return self._max_tokens or self._longest.get(stage) or EXPECTED[stage]

    def _dearest(self, read: int, written: int) -> float:
        return max((price.of(read, written) for price in self._listed.values()), default=0.0)

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
        written = tokens(answer.text) if answer.usage.output_tokens is None else answer.usage.output_tokens
        self._longest[request.stage] = max(written, self._longest.get(request.stage, 0))
        bill = self._bill(answer.model, answer.usage, (request.prompt, answer.text))
        return replace(bill, kernels=int(request.stage is not Stage.IDEAS))

    def _bill(self, model: str, usage: Usage, texts: tuple[str, str] = ("", "")) -> Amount:
        """Dollars and tokens of a call; those that nobody counted are estimated by what was read and written."""
        read = tokens(texts[0]) if usage.input_tokens is None else usage.input_tokens
        written = tokens(texts[1]) if usage.output_tokens is None else usage.output_tokens
        price, cost = self._listed.get(model), usage.cost_usd
        if cost is None:
            cost = price.of(read, written) if price else 0.0
        return Amount(cost, read + written)

    def _paid(self, model: str, usage: Usage) -> Usage:
        price = self._prices.get(model)
        return price.paid(usage) if price else usage

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


class Ticket:
    """A question in flight, to which a model may say something before it answers; for one thread."""

    def __init__(self, meter: Meter, request: Request, reserved: Amount) -> None:
        self.request, self.reserved = request, reserved
        self.answers: list[Answer] = []
        self._meter = meter

    def priced(self, answer: Answer) -> Answer:
        """Count the answer, and return it with its price."""
        self.answers.append(replace(answer, usage=self._meter._paid(answer.model, answer.usage)))
        return self.answers[-1]

    def heard(self, turn: Turn) -> Turn:
        """Count what a model said before it answered, and return it with its price."""
        told = replace(turn, usage=self._meter._paid(turn.model, turn.usage))
        self._meter._heard(self, told)
        return told

    def has_room(self, conversation: str) -> bool:
        """Whether the budget has room for one more call after that which reads the prompt and `conversation`."""
        return self._meter._extended(self, conversation)
