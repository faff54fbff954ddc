"""`treesearch trajectory`: from the first kernel to the winner."""

from __future__ import annotations

import click

from treesearch.cli import common


@click.command()
@click.argument("name", metavar="[RUN|KERNEL|PROBLEM]", required=False)
@click.option("--markdown", is_flag=True, help="Print Markdown.")
@click.option("--story", is_flag=True, help="Print Markdown with every step's idea, outcome and difference.")
@common.archive_option
@common.json_option
def trajectory(name: str | None, markdown: bool, story: bool, archive: str | None, as_json: bool) -> None:
    """Show how a run's winner, or a kernel, came about: round, time, % of the reference, idea, kernel."""
    if markdown + story + as_json > 1:
        raise click.UsageError("--markdown, --story and --json exclude each other.")
    from treesearch.roofline import floor
    from treesearch.view import data, tables
    from treesearch.view import markdown as documents
    from treesearch.view import story as stories

    with common.archives(archive) as stores:
        store, run, kernel = common.find(stores, name)
        lineage = common.lineage_of(store, run)
        path = common.path_to(lineage, run, kernel)
        if story:
            click.echo(stories.told(stories.read(store, run, lineage, path)), nl=False)
            return
        device = store.device(run.device)
        bound = floor(store.problem(run.problem), device)
        measured = store.remeasurements([path[-1].kernel.id])
        if as_json:
            common.print_json(data.trajectory(path, lineage, bound))
        elif markdown:
            final = data.final_of(measured, path[-1].kernel.id, device.id)
            click.echo(documents.trajectory(run, device, path, bound, final), nl=False)
        else:
            console = common.out()
            console.print(tables.trajectory(path))
            console.print()
            console.print(tables.winner(path[-1], measured, device.id))
            if bound:
                console.print(tables.floor(path[-1], bound))
            console.print(tables.accuracy(path[-1]))
