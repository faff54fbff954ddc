"""`treesearch work`: the machine that has the device."""

from __future__ import annotations

from pathlib import Path

import click

from treesearch.cli import common


@click.command()
@click.argument("bundles", nargs=-1, required=True, metavar="BUNDLE…", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    metavar="RESULTS",
    type=click.Path(path_type=Path),
    help="Where the results go [default: NAME.results.jsonl beside the bundle].",
)
@click.option("--any-device", is_flag=True, help="Judge here although another device is meant; no run takes that.")
def work(bundles: tuple[Path, ...], output: Path | None, any_device: bool) -> None:
    """Judge the kernels of each BUNDLE, which `treesearch run` packed on another machine.

    Every verdict is on disk before the next kernel's turn, but for the fastest, which are looked at closely at the end:
    after a crash, the same command goes on. A bundle runs programs, so take none from somebody whose program you would
    not run.

    On a machine with nothing but Python, torch and a compiler: python -m treesearch.work BUNDLE…
    """
    if output and len(bundles) > 1:
        raise click.UsageError("-o names the results of one bundle.")
    from treesearch.work import work as judge

    for path in bundles:
        judge(path, output, any_device=any_device, say=click.echo, announce=_announce)


def _announce(what: str) -> None:
    common.err().print(f"{what} …", style="dim", markup=False)
