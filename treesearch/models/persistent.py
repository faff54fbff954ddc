"""Asking until there is an answer: what models behind an API and models behind a command have in common."""

from __future__ import annotations

import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from treesearch.models.base import ModelOptions, OnFailure
from treesearch.models.failures import Failure, Kind
from treesearch.models.gate import Gate
from treesearch.records import Answer, Request

LONGEST_PAUSE = 60.0

T = TypeVar("T")


class Persistent(ABC):
    """A model that is asked up to `options.attempts` times.

    Rate limits, timeouts, server errors, lost connections and empty or malformed responses are tried again; what would
    fail again is not. An answer that was cut off is asked for once more, and then taken as it is. Every failed attempt
    is told to `on_failure`, the last one too.
    """

    def __init__(self, name: str, options: ModelOptions | None, on_failure: OnFailure | None) -> None:
        self.name = name
        self.options = options or ModelOptions()
        self.on_failure = on_failure
        self._gate = Gate(self.options)

    @abstractmethod
    def check(self) -> None:
        """Raises ModelUnavailable where every question would fail; touches no network."""

    @abstractmethod
    def _attempt(self, prompt: str) -> Answer | Failure: ...

    @abstractmethod
    def _sentence(self, failure: Failure, attempts: int) -> str:
        """What is wrong and what to do about it, after so many attempts."""

    def ask(self, request: Request) -> Answer:
        """The answer. Raises ModelUnavailable, or QuestionRefused for a question that will never be answered."""
        self.check()
        return self._until_said(request, lambda: self._attempt(request.prompt))

    def _until_said(self, request: Request, attempt: Callable[[], T | Failure]) -> T | Answer:
        """What comes of a call that is made until it brings something, or for the last time."""
        failures: list[Failure] = []
        while isinstance(outcome := self._in_turn(attempt), Failure):
            if outcome.said and outcome.kind is Kind.CUT_OFF and self._is_enough(failures):
                return outcome.said
            failures.append(outcome)
            if self.on_failure:
                self.on_failure(request, outcome)
            if self._is_over(outcome, len(failures)):
                raise outcome.error(self._sentence(outcome, len(failures)))
            time.sleep(self._pause(len(failures), outcome))
        return outcome

    def _in_turn(self, attempt: Callable[[], T | Failure]) -> T | Failure:
        with self._gate.passed():
            outcome = attempt()
        if isinstance(outcome, Failure) and self._is_patient(outcome):
            self._gate.rest(outcome.retry_after or 0.0)
        return outcome

    def _is_enough(self, failures: list[Failure]) -> bool:
        """Whether an answer that was cut off has to do: it was so before, or there is no attempt left."""
        before = any(failure.kind is Kind.CUT_OFF for failure in failures)
        return before or len(failures) + 1 >= self.options.attempts

    def _is_over(self, failure: Failure, attempts: int) -> bool:
        return failure.final or attempts >= self.options.attempts or not self._is_patient(failure)

    def _is_patient(self, failure: Failure) -> bool:
        """Whether a provider that names a time is worth waiting for: no longer than for an answer."""
        return (failure.retry_after or 0.0) <= self.options.timeout_seconds

    def _pause(self, attempt: int, failure: Failure) -> float:
        """Seconds until the next attempt: exponential, half of it random so that parallel asks spread out."""
        if failure.kind is Kind.CUT_OFF:
            return 0.0
        longest = min(self.options.backoff_seconds * 2.0 ** (attempt - 1), LONGEST_PAUSE)
        return max(longest * random.uniform(0.5, 1.0), failure.retry_after or 0.0)


def within(seconds: float, work: Callable[[], T]) -> T:
    """The result of `work`, or TimeoutError after `seconds` by the wall clock.

    Providers may ignore their timeout, and one byte a minute resets a socket's. Python cannot stop a thread, so
    a call that is late goes on in a daemon thread, its result unread, and does not keep the process alive.
    """
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        # Whatever the work raises belongs to the thread that asked for it.
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True, name="treesearch-ask").start()
    try:
        return outcome.result(timeout=seconds)
    except TimeoutError as error:
        raise TimeoutError(str(error) or f"no answer within {seconds:g} s") from None
