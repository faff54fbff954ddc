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

FORMATS = ("module", "kernelbench")
"""Those of `export.formats`; here, so that help costs nothing."""


@click.command()
@click.argument("name", metavar="KERNEL|RUN")
@click.option("--format", "form", type=click.Choice(FORMATS), default="module", show_default=True, help="What to make.")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder to write: a new one, or that of an earlier export of the same.",
)
@common.archive_option
@common.json_option
def export(name: str, form: str, output: Path, archive: str | None, as_json: bool) -> None:
    """Write KERNEL, or the winner of RUN, as files that need no treesearch, with a manifest and tests.

    The kernel is judged once more first, in fresh processes; where this machine has no such device, that is said, here
    and in the manifest. What is suspect, wrong or re-opened is not exported.

    Formats: `module`, one Python file with a custom operator of torch and an nn.Module that takes the reference's
    place; `kernelbench`, reference and ModelNew as KernelBench's evaluator takes them.
    """
    from treesearch.export import formats, verifying
    from treesearch.export.exported import gather

    with common.archives(archive) as stores:
        store, run, kernel = common.find(stores, name)
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
