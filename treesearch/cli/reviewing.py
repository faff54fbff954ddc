"""What `suspect`, `clear` and `idea` share: the archive of a kernel or a run, open for writing."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from treesearch.cli import common
from treesearch.errors import UsageError

if TYPE_CHECKING:
    from treesearch.archive import Archive
    from treesearch.records import Run


@contextmanager
def writable(url: str | None, name: str) -> Iterator[tuple[Archive, str]]:
    """The archive that holds the kernel, and the kernel's full id.

    Raises UsageError for an id that is unknown, ambiguous or a run's, and for a kernel of the shipped record, which
    commands only read.
    """
    run, kernel, place = _located(url, name)
    if kernel is None:
        raise UsageError(f"{run.id} is a run; name one of its kernels: `treesearch show {run.id}` lists them.")
    if is_record(place):
        raise _recorded(f"Kernel {kernel}", run, place)
    with _opened(url, place) as archive:
        yield archive, kernel


@contextmanager
def writable_run(url: str | None, name: str) -> Iterator[tuple[Archive, Run]]:
    """The archive that holds the run, and the run.

    Raises UsageError for an id that is unknown, naming the closest, ambiguous or a kernel's, and for a run of the
    shipped record.
    """
    run, kernel, place = _located(url, name)
    if kernel is not None:
        raise UsageError(f"{kernel} is a kernel; name its run, {run.id}.")
    if is_record(place):
        raise _recorded(f"Run {run.id}", run, place)
    with _opened(url, place) as archive:
        yield archive, run


def _located(url: str | None, name: str) -> tuple[Run, str | None, str]:
    """The run behind an id, the kernel if it is a kernel's, and the URL of the archive that holds it."""
    with common.archives(url) as stores:
        store, run, kernel = common.find(stores, name)
        return run, kernel, store.url


def _recorded(what: str, run: Run, place: str) -> UsageError:
    """What to raise for something of the shipped record."""
    from treesearch.plan import WORKING_ARCHIVE

    return UsageError(
        f"{what} is in the shipped record, which is only read. Copy the run with `treesearch publish {run.id} "
        f"--archive {shlex.quote(_path(place))} --into {WORKING_ARCHIVE}`, say it again there, and then "
        f"`treesearch publish {run.id} --archive {WORKING_ARCHIVE}` brings it into the record."
    )


def _opened(url: str | None, place: str) -> Archive:
    from treesearch.archive import Archive

    return Archive(url or _path(place))


def is_record(place: str) -> bool:
    from treesearch import resources

    return place.startswith("sqlite:") and Path(_path(place)).resolve() == Path(resources.record()).resolve()


def _path(place: str) -> str:
    return place.removeprefix("sqlite:///")
