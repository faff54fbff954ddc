"""`treesearch export`: a kernel as files that others can use."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treesearch.cli import common

if TYPE_CHECKING:
    from treesearch.export.formats import Written
    from treesearch.export.verifying import Verification

DATASET = "dataset"
FORMATS = ("module", "kernelbench", "package", DATASET)
"""Those of `export.formats`, and whole runs; here, so that help costs nothing."""


@click.command()
@click.argument("names", metavar="KERNEL|RUN…", nargs=-1, required=True)
@click.option("--format", "form", type=click.Choice(FORMATS), default="module", show_default=True, help="What to make.")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder to write: a new one, or that of an earlier export of the same.",
)
@click.option("--parquet", is_flag=True, help="Write a dataset's tables as Parquet; JSON Lines otherwise.")
@common.archive_option
@common.json_option
def export(names: tuple[str, ...], form: str, output: Path, parquet: bool, archive: str | None, as_json: bool) -> None:
    """Write KERNEL, or the winner of RUN, as files that need no treesearch, with a manifest and tests.

    The kernel is judged once more first, in fresh processes; where this machine has no such device, that is said, here
    and in the manifest. What is suspect, wrong or re-opened is not exported.

    Formats: `module`, one Python file with a custom operator of torch and an nn.Module that takes the reference's
    place; `kernelbench`, reference and ModelNew as KernelBench's evaluator takes them; `package`, the same compiled
    ahead of time, for pip. `dataset` writes all kernels of one or several runs, failures included, with prompts,
    answers, verdicts and rewards; nothing is judged again.
    """
    if form == DATASET:
        _dataset(names, output, parquet, archive, as_json)
        return
    if parquet or len(names) > 1:
        raise click.UsageError("One kernel or run at a time; several runs, or --parquet, want --format dataset.")
    from treesearch.export import formats, verifying
    from treesearch.export.exported import gather

    with common.archives(archive) as stores:
        store, run, kernel = common.find(stores, names[0])
        exported = gather(store, run, kernel)
    format = formats.FORMATS[form]
    formats.check(exported, format, output)
    verification = verifying.verify(exported, announce=lambda what: common.err().print(f"{what} …", style="dim"))
    written = formats.write(exported, format, verification, output)
    _warn(written, verification)
    if as_json:
        common.print_json({"folder": str(output), **written.manifest})
    else:
        _say(written, verification)


def _warn(written: Written, verification: Verification) -> None:
    """What the manifest says that nobody should overlook."""
    from treesearch.view.text import one_line

    if verification.absent:
        click.echo(one_line(f"NOT VERIFIED NOW: {verification.absent}. The manifest says so."), err=True)
    for remark in written.manifest["remarks"]:
        click.echo(one_line(f"Note: {remark}"), err=True)


def _say(written: Written, verification: Verification) -> None:
    """Three lines: what there is, and how it is used."""
    from treesearch.view.text import milliseconds, one_line

    found = written.manifest
    judged = verification.evaluation
    again = f"verified again: {milliseconds(judged.milliseconds)}" if judged else "not verified now"
    what = f"{found['format']} of kernel {found['subject']}, {found['problem']['name']} ({again})"
    click.echo(one_line(f"Wrote {shlex.quote(str(written.folder))}: {what}"))
    for line in written.use:
        click.echo(f"  {one_line(line)}")


def _dataset(names: tuple[str, ...], output: Path, parquet: bool, archive: str | None, as_json: bool) -> None:
    from treesearch.export import dataset
    from treesearch.view.text import one_line

    with common.archives(archive) as stores:
        found = []
        for name in names:
            store, run, kernel = common.find(stores, name)
            if kernel:
                raise click.UsageError(f"A dataset is of whole runs; {name} is a kernel of run {run.id}.")
            found.append((store, run))
        err = common.err()

        def announce(what: str) -> None:
            err.print(f"{one_line(what)} …", style="dim", markup=False)

        said = dataset.export(found, output, parquet=parquet, announce=announce)
    if as_json:
        common.print_json({"folder": str(output), **said})
    else:
        counted = ", ".join(f"{count} {table}" for table, count in said["rows"].items())
        click.echo(one_line(f"Wrote {shlex.quote(str(output))}: {counted}"))
        click.echo("  README.md there says what the columns are, and how the reward is computed")
