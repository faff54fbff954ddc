"""`treesearch evaluate`: verdicts on kernels from files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from treesearch.cli import common

if TYPE_CHECKING:
    from treesearch.events import Event
    from treesearch.records import Evaluation


@click.command()
@click.argument("problem")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option(
    "--deadline",
    type=common.Seconds(),
    default=20.0,
    show_default=True,
    help="Seconds a candidate may run.",
)
@common.device_option
@common.archive_option
@common.json_option
def evaluate(
    problem: str, files: tuple[str, ...], deadline: float, device: str, archive: str | None, as_json: bool
) -> None:
    """Build, verify and time each FILE as a kernel of PROBLEM. Exits with 1 unless all are verified.

    A FILE's suffix says its language: .cpp, .cu, or .py for a PyTorch module with a class ModelNew, KernelBench's form.

    Where DEVICE is another machine's, the files are packed into a bundle for `treesearch work` there, and
    `treesearch absorb` prints its verdicts. The archive is only where DEVICE is looked up.
    """
    from treesearch import api
    from treesearch.records import Status
    from treesearch.view import data, tables

    def announce(event: Event) -> None:
        if what := getattr(event, "what", ""):
            common.err().print(f"{what} …", style="dim")

    def judged(path: Path, evaluation: Evaluation) -> None:
        if as_json:
            common.print_json({"file": str(path), **data.evaluation(evaluation)}, compact=True)

    verdicts = api.evaluate(
        problem,
        files,
        device=device,
        deadline_seconds=deadline,
        archive=archive,
        observe=announce,
        judged=judged,
    )
    if not as_json:
        common.out().print(tables.verdicts(zip(files, verdicts, strict=True)))
    if any(verdict.status is not Status.VERIFIED for verdict in verdicts):
        raise click.exceptions.Exit(1)
