"""`treesearch publish`: from the working archive into the shipped record."""

from __future__ import annotations

import click

from treesearch.cli import common


@click.command()
@click.argument("name", metavar="RUN|PROBLEM")
@click.option("--into", metavar="PATH", help="The record [default: archive.db of this checkout].")
@common.archive_option
def publish(name: str, into: str | None, archive: str | None) -> None:
    """Copy RUN with everything it asked, got and measured into the shipped record.

    Nothing is left out: failures are part of the record.
    """
    from treesearch import resources
    from treesearch.archive import Archive
    from treesearch.errors import UsageError

    if into is None and resources.record().parent.name == "_data":
        raise UsageError(
            "This treesearch is installed, not checked out: name the record to publish to with --into PATH."
        )
    target = into or str(resources.record())
    with Archive(common.named_archive(archive), read_only=True) as source:
        _, run, _ = common.find([source], name)
        with Archive(target) as record:
            record.merge(source, run.id)
            record.seal()
    click.echo(f"Run {run.id} on {run.problem_name} is in {target}.", err=True)
