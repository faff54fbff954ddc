"""`treesearch diff`: what was changed from one kernel to another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from treesearch.cli import common
from treesearch.errors import UsageError

if TYPE_CHECKING:
    from treesearch.archive import Archive
    from treesearch.view.diff import Side


@click.command()
@click.argument("first", metavar="KERNEL")
@click.argument("second", metavar="[KERNEL]", required=False)
@common.archive_option
@common.json_option
def diff(first: str, second: str | None, archive: str | None, as_json: bool) -> None:
    """Show what differs between two kernels' sources; of one KERNEL, what differs from its parent.

    It is a unified diff, which `patch` takes, below lines that begin with # and say what came of both.
    """
    from treesearch.view import diff as view

    with common.archives(archive) as stores:
        new = _side(stores, first if second is None else second)
        old = _parent(new) if second is None else _side(stores, first)
    if as_json:
        common.print_json(view.as_json(old, new))
        return
    console, shown = common.out(), view.unified(old, new)
    if console.is_terminal:
        console.print(view.coloured(shown), soft_wrap=True)
    else:
        click.echo(shown)


def _side(stores: list[Archive], name: str) -> Side:
    from treesearch.view.diff import Side

    store, run, kernel = common.find(stores, name)
    if kernel is None:
        raise UsageError(f"{name} is a run; name a kernel of it, which `treesearch show {run.id}` lists.")
    lineage = common.lineage_of(store, run)
    return _with_code(Side(lineage.entry(kernel), lineage, run, store.device(run.device)))


def _parent(side: Side) -> Side:
    kernel = side.entry.kernel.id
    parent = side.lineage.parent(kernel)
    if parent is None:
        raise UsageError(f"Kernel {kernel} came from no other; name a second kernel to compare it with.")
    return _with_code(replace(side, entry=parent))


def _with_code(side: Side) -> Side:
    if side.entry.kernel.source is None:
        raise UsageError(f"Kernel {side.entry.kernel.id} has no source: its answer held no code.")
    return side
