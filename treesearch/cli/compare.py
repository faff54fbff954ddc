"""`treesearch compare`: runs side by side."""

from __future__ import annotations

import click

from treesearch.cli import common
from treesearch.errors import UsageError


@click.command()
@click.argument("names", metavar="RUN RUN…", nargs=-1, required=True)
@click.option(
    "--axis",
    type=click.Choice(["round", "evaluations", "dollars", "minutes"]),
    default="round",
    show_default=True,
    help="What the runs are followed along.",
)
@click.option("--anyway", is_flag=True, help="Compare runs of different problems or devices.")
@common.archive_option
@common.json_option
def compare(names: tuple[str, ...], axis: str, anyway: bool, archive: str | None, as_json: bool) -> None:
    """Show RUNs side by side: the best speed-up of each so far along one axis, its winner, and what it took.

    Dollars are what answers had cost when a verdict was given, minutes the time since the run began, pauses included.
    What is not known is called unknown, and not counted as nothing.
    """
    from treesearch.view import compare as view
    from treesearch.view import progressions

    with common.archives(archive) as stores:
        placed = {run.id: (store, run) for store, run, _ in (common.find(stores, name) for name in names)}
        if len(placed) < 2:
            raise UsageError("Name two runs or more to compare; `treesearch show RUN` shows one.")
        reason = progressions.unlike([run for _, run in placed.values()])
        if reason and not anyway:
            raise UsageError(
                f"These runs do not compare: {reason}. With --anyway their speed-ups are put side by side."
            )
        found = [
            view.Compared(progressions.progression(store, run, progressions.Axis(axis)), store.device(run.device))
            for store, run in placed.values()
        ]
    if as_json:
        common.print_json(view.as_json(found))
    else:
        common.out().print(view.table(found))
