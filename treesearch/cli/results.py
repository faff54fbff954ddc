"""`treesearch results`: what searches came to."""

from __future__ import annotations

import click

from treesearch.cli import common
from treesearch.errors import UsageError


@click.command()
@click.argument("names", metavar="[RUN|PROBLEM]…", nargs=-1)
@click.option("--markdown", is_flag=True, help="Print Markdown.")
@common.archive_option
@common.json_option
def results(names: tuple[str, ...], markdown: bool, archive: str | None, as_json: bool) -> None:
    """Show what searches came to: each winner beside PyTorch, the floor and what others have published.

    By default of each problem, on each device, its newest run with a verified kernel. Figures were taken after the
    selection, in fresh processes and on fresh inputs; where that is still due they are marked.
    """
    if markdown and as_json:
        raise click.UsageError("--markdown and --json exclude each other.")
    from treesearch.view import results as view

    with common.archives(archive) as stores:
        chosen = {run.id: (store, run) for store, run, _ in (common.find(stores, name) for name in names)}
        which = tuple(chosen.values()) if names else view.newest(stores)
        found = [result for result in (view.of(store, run) for store, run in which) if result]
    if not found:
        raise UsageError("No run has a verified kernel yet; `treesearch show RUN` says what became of its kernels.")
    if as_json:
        common.print_json(view.as_json(found))
    elif markdown:
        click.echo(view.markdown(found), nl=False)
    else:
        common.out().print(view.table(found))
