"""How often, and how many at once, a model is called."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from treesearch.models.base import ModelOptions


class Gate:
    """The way to one model, shared by all threads that ask it."""

    def __init__(self, options: ModelOptions) -> None:
        self._places = threading.BoundedSemaphore(options.concurrency)
        self._spacing = 60.0 / options.calls_per_minute if options.calls_per_minute else 0.0
        self._lock = threading.Lock()
        self._next = 0.0

    @contextmanager
    def passed(self) -> Iterator[None]:
        """Hold one of the places inside the block, which begins when it is this call's turn."""
        with self._places:
            time.sleep(self._turn())
            yield

    def rest(self, seconds: float) -> None:
        """Let no call begin for so long: the provider asks to be left alone."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)

    def _turn(self) -> float:
        """Seconds until the next call may begin, which is then taken."""
        with self._lock:
            now = time.monotonic()
            begins = max(now, self._next)
            self._next = begins + self._spacing
            return begins - now
