"""What every model is, and how it is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from treesearch.models.failures import Failure
from treesearch.records import Answer, Request

OnFailure = Callable[[Request, Failure], None]
"""Told of every failed attempt to ask; called in the thread that asks."""


class Model(Protocol):
    """A reasoning model. `ask` blocks until there is an answer and may be called from many threads at once."""

    @property
    def name(self) -> str: ...

    def ask(self, request: Request) -> Answer:
        """The answer; raises ModelError when there is none to be had, Waiting when it is due from elsewhere."""
        ...


@dataclass(frozen=True)
class ModelOptions:
    """How a model is asked; what is sent to it is `Sampling`."""

    timeout_seconds: float = 600.0
    """Limit of one attempt, by the wall clock."""
    attempts: int = 4
    """Attempts before an endpoint is given up."""
    backoff_seconds: float = 2.0
    """Pause after the first failed attempt; it doubles with each further one, up to a minute."""
    concurrency: int = 64
    """Calls of one model in flight at once."""
    calls_per_minute: float | None = None
    """Calls of one model that may begin in a minute, evenly spaced; None sets no limit."""
    api_base: str | None = None
    """Address of the endpoint; None leaves it to the provider and its environment variables."""
    wait: bool = False
    """For `file/`: wait for an answer instead of raising Waiting."""
    poll_seconds: float = 2.0
    """For `file/`: pause between two looks at an answer."""

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.timeout_seconds <= 0:
            raise ValueError("a model needs at least one attempt and a timeout above zero")
        if self.backoff_seconds < 0 or self.poll_seconds <= 0:
            raise ValueError("backoff_seconds starts at 0; poll_seconds is above 0")
        if self.concurrency < 1 or (self.calls_per_minute is not None and self.calls_per_minute <= 0):
            raise ValueError("a model takes at least one call at once, and calls_per_minute is above 0")
