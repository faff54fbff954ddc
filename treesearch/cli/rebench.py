"""`treesearch rebench`: measure kernels again."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from treesearch.cli import common, reviewing
from treesearch.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from treesearch.archive import Archive


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="KERNEL…")
@common.archive_option
@common.json_option
def rebench(names: tuple[str, ...], archive: str | None, as_json: bool) -> None:
    """Measure each KERNEL again, now, on this machine, in fresh processes and on fresh inputs.

    Of several kernels of one problem and language, the first is launched in turn with each of the others, and called
    faster or slower only if the interval of their ratio says so. Verdicts stay what they were; what is measured is
    stored beside them, kernel by kernel. Exits with 1 unless all are verified.

    Ids may be shortened, and are looked for in the working archive and in the shipped record, which is only read: the
    run of a kernel that is there alone is copied into the working archive first.
    """
    from treesearch.records import Status
    from treesearch.steps.rebench import rebench as measure
    from treesearch.view import rebench as view

    def announce(what: str) -> None:
        common.err().print(f"{what} …", style="dim")

    with _opened(archive, names) as (store, kernels):
        benched = list(measure(store, kernels, announce=announce))
    if as_json:
        common.print_json(view.json(benched))
    else:
        common.out().print(view.table(benched))
    if any(one.now.status is not Status.VERIFIED for one in benched):
        raise click.exceptions.Exit(1)


def _named(stores: list[Archive], name: str) -> tuple[str, str, str]:
    """Where a kernel is, its run and its full id."""
    store, run, kernel = common.find(stores, name)
    if kernel is None:
        raise UsageError(f"{run.id} is a run; name one of its kernels: `treesearch show {run.id}` lists them.")
    return store.url, run.id, kernel


@contextmanager
def _opened(url: str | None, names: tuple[str, ...]) -> Iterator[tuple[Archive, list[str]]]:
    """The archive to write to, with all of these kernels in it, and their full ids.

    Raises UsageError for an id that is unknown, ambiguous or a run's.
    """
    from treesearch import resources
    from treesearch.archive import Archive
    from treesearch.plan import WORKING_ARCHIVE

    with common.archives(url) as stores:
        found = [_named(stores, name) for name in names]
    recorded = {run for place, run, _ in found if reviewing.is_record(place)}
    named = url if url is not None and not all(reviewing.is_record(place) for place, *_ in found) else WORKING_ARCHIVE
    with Archive(named) as store:
        for run in sorted(recorded):
            with Archive(resources.record(), read_only=True) as record:
                store.merge(record, run)
            click.echo(f"Run {run} is in the shipped record, and was copied into {named}.", err=True)
        yield store, [kernel for _, _, kernel in found]
