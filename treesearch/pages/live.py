"""News of runs that go on: one look a second at each run that somebody watches, however many do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from treesearch.errors import TreesearchError

SECONDS = 1.0
"""Between two looks."""
QUIET = 15.0
"""Seconds after which a listener is told that nothing has changed, so that a connection that is gone is noticed."""

Queue = asyncio.Queue[str | None]


class Watch:
    """The versions of runs, as they change. It belongs to one event loop."""

    def __init__(self, version: Callable[[str], str], seconds: float = SECONDS) -> None:
        """`version` tells a run's version by its id; it may take long and runs in another thread."""
        self._version, self._seconds = version, seconds
        self._listeners: dict[str, set[Queue]] = {}
        self._known: dict[str, str] = {}
        self._closed = False

    async def changes(self, run: str) -> AsyncIterator[str]:
        """The version as it is, and every one that follows; an empty text where there was none for a while."""
        queue: Queue = asyncio.Queue()
        self._listeners.setdefault(run, set()).add(queue)
        try:
            yield await asyncio.to_thread(self._version, run)
            while not self._closed:
                try:
                    version = await asyncio.wait_for(queue.get(), QUIET)
                except TimeoutError:
                    version = ""
                if version is None:
                    return
                yield version
        finally:
            self._leave(run, queue)

    def _leave(self, run: str, queue: Queue) -> None:
        self._listeners[run].discard(queue)
        if not self._listeners[run]:
            del self._listeners[run]
            self._known.pop(run, None)

    async def look(self) -> None:
        """Look at every run that is watched, for ever."""
        while True:
            await asyncio.sleep(self._seconds)
            for run in list(self._listeners):
                with suppress(TreesearchError):  # an archive that is busy or gone is looked at again
                    self._tell(run, await asyncio.to_thread(self._version, run))

    def _tell(self, run: str, version: str) -> None:
        if self._known.setdefault(run, version) != version:
            self._known[run] = version
            for queue in self._listeners.get(run, ()):
                queue.put_nowait(version)

    def close(self) -> None:
        """Say good-bye to all listeners."""
        self._closed = True
        for queues in self._listeners.values():
            for queue in queues:
                queue.put_nowait(None)
