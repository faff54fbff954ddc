"""`treesearch clear`: a person lifts a suspicion."""

from __future__ import annotations

import click

from treesearch.cli import common, reviewing


@click.command()
@click.argument("name", metavar="KERNEL")
@click.option("--reason", required=True, metavar="TEXT", help="Why; it is shown wherever the kernel is.")
@common.archive_option
def clear(name: str, reason: str, archive: str | None) -> None:
    """Clear KERNEL, which is suspect, whether the evaluator or a person found it so: it counts as verified.

    Kernels that came from it and were re-opened count again too. Nothing that was stored is changed.
    """
    from treesearch.steps import review
    from treesearch.view import text

    with reviewing.writable(archive, name) as (store, kernel):
        done = review.clear(store, kernel, reason)
    click.echo(f"Kernel {kernel} is cleared, and counts as verified.", err=True)
    if done.others:
        count = text.count(len(done.others), "kernel")
        click.echo(f"Re-opened because of it, and standing again: {count} of run {done.run.id}.", err=True)
