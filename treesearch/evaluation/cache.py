"""Where builds are kept, and the lock that keeps builds and other runs off a machine while it times."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from treesearch.errors import MachineError
from treesearch.records import digest


def folder() -> Path:
    """`$TREESEARCH_CACHE`, else `treesearch` in the user's cache folder."""
    named = os.environ.get("TREESEARCH_CACHE")
    base = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "treesearch"
    try:
        base.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MachineError(
            f"Cannot write the cache {base}: {error.strerror}; name another in TREESEARCH_CACHE."
        ) from error
    return base


@contextmanager
def building() -> Iterator[None]:
    """Held while something compiles for, or on, the machine that may be timing."""
    with _locked(fcntl.LOCK_SH):
        yield


@contextmanager
def timing() -> Iterator[None]:
    """Held while a kernel is timed: nothing else of treesearch runs on the machine, in any process."""
    with _locked(fcntl.LOCK_EX):
        yield


@contextmanager
def _locked(kind: int) -> Iterator[None]:
    with open(folder() / "machine.lock", "w") as lock:
        fcntl.flock(lock, kind)
        yield


@contextmanager
def alone(name: str, otherwise: str) -> Iterator[None]:
    """Held by one process at a time; raises MachineError with the sentence `otherwise` for any further one."""
    locks = folder() / "locks"
    locks.mkdir(exist_ok=True)
    with open(locks / digest(name)[:16], "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise MachineError(otherwise) from None
        yield
