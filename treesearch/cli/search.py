"""`treesearch search`: find a text in all runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treesearch.cli import common
from treesearch.errors import UsageError

LONGEST = 1000
"""Characters of a text to look for; databases bound their patterns."""

if TYPE_CHECKING:
    from treesearch.archive import Archive, Hit


@click.command()
@click.argument("wanted", metavar="TEXT")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many to show at most.")
@common.archive_option
@common.json_option
def search(wanted: str, limit: int, archive: str | None, as_json: bool) -> None:
    """Find TEXT in the ideas, the code and the answers of all runs, the newest first; case does not matter.

    An answer is named where it holds TEXT and what was taken from it does not. `treesearch show ID --answer` prints it,
    `treesearch show` and `treesearch log` the kernels, `treesearch idea list RUN` what became of the ideas.
    """
    from treesearch.view import search as view

    if not wanted.strip():
        raise UsageError("Name the text to look for.")
    if len(wanted) > LONGEST:
        raise UsageError(
            f"A text of {len(wanted):,} characters is too long to look for; name at most {LONGEST:,} of it."
        )
    with common.archives(archive) as stores:
        found = _newest(stores, wanted, limit + 1)
    if as_json:
        common.print_json(view.as_json(found[:limit], wanted, more=len(found) > limit))
    elif found:
        common.out().print(view.listed(found[:limit], wanted, more=len(found) > limit))
    else:
        click.echo("Nothing holds that text.", err=True)


def _newest(stores: list[Archive], wanted: str, limit: int) -> list[Hit]:
    """Hits of all archives, the newest run's first; a run that several hold counts in the first of them."""
    found: list[Hit] = []
    for store in stores:
        known = {hit.run.id for hit in found}
        found += [hit for hit in store.search(wanted, limit) if hit.run.id not in known]
    return sorted(found, key=lambda hit: hit.run.created, reverse=True)[:limit]
