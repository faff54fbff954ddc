"""`treesearch absorb`: verdicts that come back from another machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treesearch.cli import common

if TYPE_CHECKING:
    from treesearch.steps.absorb import Absorbed


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="RESULTS…")
@common.archive_option
@common.json_option
def absorb(files: tuple[str, ...], archive: str | None, as_json: bool) -> None:
    """Take in the verdicts of RESULTS files that `treesearch work` wrote; then the same `run` command goes on.

    A file that is damaged, or about another problem, kernel, protocol or device than its run, is refused whole.
    Verdicts on files that `evaluate` sent away are printed, not stored; then it exits with 1 unless all are verified.
    """
    from treesearch import api
    from treesearch.records import Status

    verified = True
    for taken in api.absorb(files, archive=archive):
        if as_json:
            _print_json(taken)
        elif taken.fresh is None:
            _print_table(taken)
        else:
            _print_count(taken)
        if taken.fresh is None:
            verified &= all(verdict.evaluation.status is Status.VERIFIED for verdict in taken.verdicts)
    if not verified:
        raise click.exceptions.Exit(1)


def _print_json(taken: Absorbed) -> None:
    from treesearch.view import data

    for verdict in taken.verdicts:
        name = {"kernel": verdict.kernel} if taken.header.run else {"file": verdict.kernel}
        common.print_json({**name, **data.evaluation(verdict.evaluation)}, compact=True)


def _print_table(taken: Absorbed) -> None:
    from treesearch.view import tables

    common.out().print(tables.verdicts((verdict.kernel, verdict.evaluation) for verdict in taken.verdicts))


def _print_count(taken: Absorbed) -> None:
    from treesearch.view import text

    count, name = text.count(len(taken.verdicts), "verdict"), text.one_line(taken.header.problem_name)
    click.echo(f"run {taken.header.run} on {name}: {count}, {taken.fresh} of them new", err=True)
