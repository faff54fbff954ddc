"""`treesearch log`: why a kernel is what it is."""

from __future__ import annotations

import click

from treesearch.cli import common
from treesearch.errors import UsageError


@click.command()
@click.argument("name", metavar="KERNEL")
@click.option("--full", is_flag=True, help="Print prompts, answers and compiler output whole.")
@common.archive_option
@common.json_option
def log(name: str, full: bool, archive: str | None, as_json: bool) -> None:
    """Show why KERNEL is what it is: first what became of it and why, then what led there, in order.

    The question that brought its idea and the one that brought its code, with their answers and what was built on the
    way; the compiler's output, the verdict, its profile; what was found out and measured later.
    """
    from treesearch.view import log as view

    with common.archives(archive) as stores:
        store, run, kernel = common.find(stores, name)
        if kernel is None:
            raise UsageError(f"{run.id} is a run; name a kernel of it, which `treesearch show {run.id}` lists.")
        told = view.read(store, run, kernel)
    if as_json:
        common.print_json(view.as_json(told))
    else:
        common.out().print(view.printed(told, full=full))
