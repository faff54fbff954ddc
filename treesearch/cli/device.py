"""`treesearch device`: what this machine is, for searches that run elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from treesearch.cli import common


@click.command()
@click.option(
    "-o",
    "--output",
    metavar="FILE.json",
    type=click.Path(path_type=Path),
    help="Write the description there, for `treesearch run --device FILE.json` on another machine.",
)
@click.option("--kind", type=click.Choice(["cpu", "cuda"]), help="Which device [default: the GPU, else the CPU].")
@common.json_option
def device(output: Path | None, kind: str | None, as_json: bool) -> None:
    """Describe this machine's GPU, else its CPU. A GPU's bandwidth and rates are measured once, in some seconds."""
    from treesearch.view import data, hardware
    from treesearch.work import describe, this_device

    found = describe(output, kind) if output else this_device(kind)
    if as_json:
        common.print_json(data.device(found))
        return
    click.echo(f"{found.id}  {hardware.device(found)}")
    if figures := hardware.figures(found):
        click.echo(figures)
