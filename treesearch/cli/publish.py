"""`treesearch publish`: from the working archive into the shipped record."""

from __future__ import annotations

import click

from treesearch.cli import common


@click.command()
@click.argument("name", metavar="RUN")
@click.option("--into", metavar="PATH", help="The record [default: archive.db of this checkout].")
@common.archive_option
def publish(name: str, into: str | None, archive: str | None) -> None:
    """Copy RUN with everything it asked, got and measured into the shipped record.

    Nothing is left out: failures are part of the record.
    """
    from treesearch import resources
    from treesearch.archive import Archive

    with Archive(common.named_archive(archive)) as source:
        run = source.run(name)
        with Archive(into or resources.record()) as record:
            record.merge(source, run.id)
            record.seal()
    click.echo(f"Run {run.id} on {run.problem_name} is in {into or resources.record().name}.", err=True)
