"""What a search may cost, and what it has cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Self

from treesearch.records.asking import Usage

MILLION = 1_000_000


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens of a model, read and written."""

    model: str
    """Its model string, such as `openai/o3`."""
    input: float
    output: float

    def __post_init__(self) -> None:
        if not (0 <= self.input < math.inf and 0 <= self.output < math.inf):
            raise ValueError(f"a price of {self.model} is no number of dollars")

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """US dollars."""
        return (self.input * input_tokens + self.output * output_tokens) / MILLION

    def paid(self, usage: Usage) -> Usage:
        """The usage at this price; as it is where its tokens are not known."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return usage
        cost = self.of(usage.input_tokens, usage.output_tokens)
        return Usage(usage.input_tokens, usage.output_tokens, cost)


@dataclass(frozen=True)
class Budget:
    """Where a search stops although rounds are left. None leaves a limit out; all of them are above zero."""

    usd: float | None = None
    """US dollars that answers may cost."""
    tokens: int | None = None
    """Tokens that models may read and write."""
    evaluations: int | None = None
    """Kernels that may be asked for and judged."""
    minutes: float | None = None
    """Wall time of one go, after which nothing more is asked."""
    speedup: float | None = None
    """Good enough: the lower end of the winner's speed-up over the better baseline."""
    floor: float | None = None
    """Good enough: the share of the roofline floor's speed that the winner has."""
    patience: int | None = None
    """Rounds without a clear gain; ideas that a person has added or pinned are tried first."""

    def __post_init__(self) -> None:
        for field in fields(self):
            limit = getattr(self, field.name)
            if limit is not None and not 0 < limit < math.inf:
                raise ValueError(f"a limit of {limit} {field.name} is no finite number above zero")

    @property
    def spends(self) -> bool:
        """Whether anything limits what is asked, not only what is found."""
        return (self.usd, self.tokens, self.evaluations, self.minutes) != (None,) * 4


@dataclass(frozen=True)
class Spending:
    """What a run's answers, and failed attempts that were billed, took: sums over those that tell, else None."""

    answers: int = 0
    unpriced: int = 0
    """Those whose price is not known; `cost_usd` is that of the others."""
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cost_usd: float | None = 0.0

    @classmethod
    def of(cls, usage: Usage) -> Self:
        """That of one answer."""
        return cls(1, int(usage.cost_usd is None), usage.input_tokens, usage.output_tokens, usage.cost_usd)
