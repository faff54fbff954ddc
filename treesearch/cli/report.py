"""`treesearch report`: a run as one file to read in a browser."""

from __future__ import annotations

from pathlib import Path

import click

from treesearch.cli import common
from treesearch.errors import UsageError


@click.command()
@click.argument("name", metavar="[RUN|PROBLEM]", required=False)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File to write [default: RUN.html]."
)
@common.archive_option
def report(name: str | None, output: Path | None, archive: str | None) -> None:
    """Write a run as one HTML file that needs no server and no network; by default the latest run.

    It opens on the winning line and tells of every kernel that there is room for.
    """
    from treesearch.pages import study
    from treesearch.pages.report import report as written

    with common.archives(archive) as stores:
        store, run, _ = common.find(stores, name)
        text = written(study.of(store, run))
    file = output or Path(f"{run.id}.html")
    try:
        _replace(file, text.encode())
    except OSError as error:
        raise UsageError(f"{file} cannot be written ({error.strerror}); name another file with -o.") from error
    click.echo(f"Wrote {file}: run {run.id} on {run.problem_name}, {len(text) / 1e6:.1f} MB.")


def _replace(file: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    part = file.with_name(f"{file.name}.part")
    part.write_bytes(content)
    part.replace(file)
