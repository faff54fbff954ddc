"""The archives that pages are about, in which runs and kernels are found by their ids."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

from treesearch import resources
from treesearch.archive import Archive
from treesearch.errors import UsageError
from treesearch.plan import WORKING_ARCHIVE
from treesearch.records import Kernel, Run

T = TypeVar("T")


class Shelf:
    """Archives in the order in which ids are looked for. Any thread may ask."""

    def __init__(self, *urls: str | Path, awaited: str | Path | None = None) -> None:
        """`awaited` is a file that comes first; where it is not there yet, it is opened once it is.

        Raises ArchiveError for an archive that cannot be read.
        """
        self._open: list[Archive] = []
        self._awaited, self._opening = awaited, threading.Lock()
        try:
            self._open += [Archive(url, read_only=True) for url in urls]
            self.archives()
        except BaseException:  # whatever it was, those that are open are closed
            self.close()
            raise

    @classmethod
    def named(cls, url: str | None) -> Self:
        """The archive of that path or URL alone, or else the working archive, once there is one, and the record."""
        return cls(url) if url is not None else cls(resources.record(), awaited=WORKING_ARCHIVE)

    def archives(self) -> tuple[Archive, ...]:
        with self._opening:
            if self._awaited is not None and Path(self._awaited).exists():
                self._open.insert(0, Archive(self._awaited, read_only=True))
                self._awaited = None
            return tuple(self._open)

    def close(self) -> None:
        for archive in self._open:
            archive.close()

    def run(self, id: str) -> tuple[Archive, Run]:
        """The run of that id. Raises UsageError where there is none."""
        return self._first(f"run {id}", lambda archive: archive.run(id) if id else None)

    def kernel(self, id: str) -> tuple[Archive, tuple[Run, Kernel]]:
        """The kernel of that id, and its run. Raises UsageError where there is none."""
        return self._first(f"kernel {id}", lambda archive: archive.kernel(id))

    def _first(self, what: str, find: Callable[[Archive], T | None]) -> tuple[Archive, T]:
        for archive in self.archives():
            try:
                found = find(archive)
            except UsageError:
                continue
            if found is not None:
                return archive, found
        raise UsageError(f"There is no {what} here.")
