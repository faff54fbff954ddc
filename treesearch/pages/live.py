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


async def _next(queue: Queue) -> str | None:
    try:
        return await asyncio.wait_for(queue.get(), QUIET)
    except TimeoutError:
        return ""


class Watch:
    """The versions of runs, as they change. It belongs to one event loop."""

    def __init__(self, version: Callable[[str], str], seconds: float = SECONDS) -> None:
        """`version` tells a run's version by its id; it may take long and runs in another thread."""
        self._version, self._seconds = version, seconds
        self._listeners: dict[str, set[Queue]] = {}
        self._known: dict[str, str] = {}
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None

    async def changes(self, run: str) -> AsyncIterator[str]:
        """The version as it is, and every one that follows; an empty text where there was none for a while."""
        queue: Queue = asyncio.Queue()
        self._listeners.setdefault(run, set()).add(queue)
        try:
            first = await asyncio.to_thread(self._version, run)
            self._known.setdefault(run, first)  # what changes from here on is news
            yield first
            while not self._closed and (version := await _next(queue)) is not None:
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
        self._loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._seconds)
            for run in list(self._listeners):
                with suppress(TreesearchError):  # an archive that is busy or gone is looked at again
                    self._tell(run, await asyncio.to_thread(self._version, run))

    def _tell(self, run: str, version: str) -> None:
        if self._known.get(run, version) != version:
            self._known[run] = version
            for queue in self._listeners.get(run, ()):
                queue.put_nowait(version)

    def close(self) -> None:
        """Say good-bye to all listeners; any thread may do so, and a signal's handler too."""
        self._closed = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._dismiss)

    def _dismiss(self) -> None:
        for queues in self._listeners.values():
            for queue in queues:
                queue.put_nowait(None)
