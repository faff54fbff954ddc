"""Where builds are kept, and the lock that keeps builds and other runs off a machine while it times."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from treesearch.errors import MachineError
from treesearch.records import digest


def folder() -> Path:
    """`$TREESEARCH_CACHE`, else `treesearch` in the user's cache folder."""
    named = os.environ.get("TREESEARCH_CACHE")
    base = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "treesearch"
    with _writable(base):
        base.mkdir(parents=True, exist_ok=True)
    return base


@contextmanager
def _writable(base: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise MachineError(
            f"Cannot write the cache {base}: {error.strerror}; name another in TREESEARCH_CACHE."
        ) from error


def _lock_file(name: str) -> IO[str]:
    base = folder()
    with _writable(base):
        (base / "locks").mkdir(exist_ok=True)
        return open(base / "locks" / name, "w")


MACHINE = "machine"
"""The lock that builds share and that timings on the CPU hold alone."""


@contextmanager
def building(name: str = MACHINE) -> Iterator[None]:
    """Held while something compiles or computes where a timing may be going on."""
    with _locked(name, fcntl.LOCK_SH):
        yield


@contextmanager
def timing(name: str = MACHINE) -> Iterator[None]:
    """Held while a kernel is timed. Nothing else of treesearch runs on the machine meanwhile, in any process; with a
    GPU's own `name`, nothing else runs on that GPU."""
    with _locked(name, fcntl.LOCK_EX):
        yield


@contextmanager
def _locked(name: str, kind: int) -> Iterator[None]:
    with _lock_file(name) as lock:
        fcntl.flock(lock, kind)
        yield


LETTING_GO = 1.0
"""Seconds. A child that was being started when its parent was killed holds the locks until it runs its program."""


@contextmanager
def alone(name: str, otherwise: str) -> Iterator[None]:
    """Held by one process at a time; raises MachineError with the sentence `otherwise` for any further one."""
    with _lock_file(digest(name)[:16]) as lock:
        until = time.monotonic() + LETTING_GO
        while not _taken(lock):
            if time.monotonic() > until:
                raise MachineError(otherwise)
            time.sleep(0.02)
        yield


def _taken(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
