"""`treesearch suspect`: a person doubts a kernel that was verified."""

from __future__ import annotations

import click

from treesearch.cli import common, reviewing


@click.command()
@click.argument("name", metavar="KERNEL")
@click.option("--reason", required=True, metavar="TEXT", help="Why; it is shown wherever the kernel is.")
@common.archive_option
def suspect(name: str, reason: str, archive: str | None) -> None:
    """Mark KERNEL as suspect although it was verified: it is no parent and no winner any more.

    Verified kernels that came from it are re-opened: they do not count either until the same `run` command has judged
    them again, or KERNEL is cleared. Nothing that was stored is changed.
    """
    from treesearch.steps import review
    from treesearch.view import text

    with reviewing.writable(archive, name) as (store, kernel):
        done = review.suspect(store, kernel, reason)
    click.echo(f"Kernel {kernel} is suspect now.", err=True)
    if done.others:
        click.echo(
            f"{text.count(len(done.others), 'kernel')} of run {done.run.id} came from it and must be judged again: "
            "run the same treesearch run command.",
            err=True,
        )
