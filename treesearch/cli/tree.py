"""`treesearch tree`: which kernel came from which."""

from __future__ import annotations

import click

from treesearch.cli import common


@click.command()
@click.argument("name", metavar="[RUN|KERNEL|PROBLEM]", required=False)
@click.option("--depth", type=click.IntRange(min=1), metavar="STEPS", help="Go no more steps down than these.")
@click.option("--all", "whole", is_flag=True, help="List every kernel, however many there are.")
@common.archive_option
@common.json_option
def tree(name: str | None, depth: int | None, whole: bool, archive: str | None, as_json: bool) -> None:
    """Show a run's kernels, by default the latest run's, as the tree that they form, or the part below a kernel.

    The line to the winner is bright, failures are dim. Of more than a hundred kernels only those are listed that others
    were made from, and the winning line; the rest is summed up where it belongs.
    """
    from treesearch.view import tree as view

    with common.archives(archive) as stores:
        store, run, kernel = common.find(stores, name)
        lineage = store.outline(run.id)
    listed = view.branches(lineage, kernel, depth, whole=whole)
    if as_json:
        common.print_json(view.as_json(run, lineage, listed))
    else:
        common.out().print(view.drawn(run, lineage, listed))
