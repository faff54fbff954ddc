"""What `suspect` and `clear` share: the archive of a kernel, open for writing."""

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


@contextmanager
def writable(url: str | None, name: str) -> Iterator[tuple[Archive, str]]:
    """The archive that holds the kernel, and the kernel's full id.

    Raises UsageError for an id that is unknown, ambiguous or a run's, and for a kernel of the shipped record, which
    commands only read.
    """
    from treesearch.archive import Archive
    from treesearch.plan import WORKING_ARCHIVE

    with common.archives(url) as stores:
        store, run, kernel = common.find(stores, name)
        place = store.url
    if kernel is None:
        raise UsageError(f"{run.id} is a run; name one of its kernels: `treesearch show {run.id}` lists them.")
    if is_record(place):
        raise UsageError(
            f"Kernel {kernel} is in the shipped record, which is only read. Copy its run with `treesearch publish "
            f"{run.id} --archive {shlex.quote(_path(place))} --into {WORKING_ARCHIVE}`, say it again there, and then "
            f"`treesearch publish {run.id} --archive {WORKING_ARCHIVE}` brings the finding into the record."
        )
    with Archive(url or _path(place)) as archive:
        yield archive, kernel


def is_record(place: str) -> bool:
    from treesearch import resources

    return place.startswith("sqlite:") and Path(_path(place)).resolve() == Path(resources.record()).resolve()


def _path(place: str) -> str:
    return place.removeprefix("sqlite:///")
