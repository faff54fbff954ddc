"""`treesearch idea`: a person's hand in a search."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from treesearch.cli import common, reviewing

if TYPE_CHECKING:
    from treesearch.archive import Archive
    from treesearch.records import Run
    from treesearch.steps.decide import Decided

reason_option = click.option("--reason", default="", metavar="TEXT", help="Why; it is shown wherever the idea is.")


@click.group()
def idea() -> None:
    """Add an idea of your own to a run, have one tried that was passed over, or ban one.

    A decision is stored at once and holds from the next round to begin, whether the run is going on or is continued by
    the same `treesearch run` command. The newest decision about an idea counts.
    """


@idea.command(short_help="Have an idea of your own tried.")
@click.argument("run")
@click.option("--title", required=True, metavar="TEXT", help="A name for the change.")
@click.option("--mechanism", required=True, metavar="TEXT", help="What changes, and why that is faster.")
@click.option("--category", default="", metavar="TEXT", help="The nearest of the six is taken [default: by the title].")
@click.option(
    "--expected-speedup",
    type=click.FloatRange(min=0, min_open=True, max=1000),
    default=1.0,
    metavar="RATIO",
    help="The kernel's time over the new one's, as you expect it [default: 1].",
)
@click.option("--parent", default="", metavar="KERNEL", help="Kernel to change [default: the round's first parent].")
@reason_option
@common.archive_option
@common.json_option
def add(
    run: str,
    title: str,
    mechanism: str,
    category: str,
    expected_speedup: float,
    parent: str,
    reason: str,
    archive: str | None,
    as_json: bool,
) -> None:
    """Have an idea of your own tried in the next round of RUN, beside those that models are asked for."""
    from treesearch.steps import decide

    stated = decide.stated(title, mechanism, category, expected_speedup)
    _decide(archive, run, as_json, lambda store, found: decide.add(store, found, stated, parent=parent, reason=reason))


@idea.command(short_help="Have one tried that was passed over.")
@click.argument("run")
@click.argument("idea")
@reason_option
@common.archive_option
@common.json_option
def pin(run: str, idea: str, reason: str, archive: str | None, as_json: bool) -> None:
    """Have IDEA of RUN, which was not picked, or of which no kernel worked, tried in the next round.

    IDEA is an id, its beginning, or a whole title; `treesearch idea list` has them. A ban on it is lifted.
    """
    from treesearch.steps import decide

    _decide(archive, run, as_json, lambda store, found: decide.pin(store, found, idea, reason=reason))


@idea.command(short_help="Keep one out of all rounds to come.")
@click.argument("run")
@click.argument("idea")
@reason_option
@common.archive_option
@common.json_option
def ban(run: str, idea: str, reason: str, archive: str | None, as_json: bool) -> None:
    """Keep IDEA of RUN, and what nearly repeats it, out of all rounds to come.

    Models are told; its kernels, and what came from them, are parents no more. IDEA is an id, its beginning, or a whole
    title; `treesearch idea list` has them. An idea that was added and that no round has taken up is taken back.
    """
    from treesearch.steps import decide

    _decide(archive, run, as_json, lambda store, found: decide.ban(store, found, idea, reason=reason))


@idea.command("list", short_help="List a run's ideas, and what became of each.")
@click.argument("run", required=False)
@common.archive_option
@common.json_option
def listed(run: str | None, archive: str | None, as_json: bool) -> None:
    """List the ideas of RUN, by default the latest one, with what became of each."""
    from treesearch.steps import decide
    from treesearch.view import ideas

    with common.archives(archive) as stores:
        store, found, _ = common.find(stores, run)
        fates = decide.fates(store, found)
    if as_json:
        common.print_json([ideas.fate(one) for one in fates])
    elif fates:
        common.out().print(ideas.table(fates))
    else:
        click.echo(f"Run {found.id} has no idea yet.", err=True)


def _decide(archive: str | None, run: str, as_json: bool, decide: Callable[[Archive, Run], Decided]) -> None:
    """Store a decision about a run, and say what follows from it."""
    from treesearch.view import ideas, text

    with reviewing.writable_run(archive, run) as (store, found):
        made = decide(store, found)
    if as_json:
        common.print_json(ideas.decided(made))
        return
    decision = made.decision
    about = f" ({decision.idea.category})" if not decision.about else ""
    said = f"{text.HAND[decision.verb]}: {text.one_line(decision.idea.title)}{about}"
    click.echo(f"{decision.about or decision.id}  {said}", err=True)
    click.echo(ideas.goes_on(made), err=True)
