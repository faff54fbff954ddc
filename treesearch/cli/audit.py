"""`treesearch audit`: can the evaluator be fooled, and does it convict the innocent?"""

from __future__ import annotations

from pathlib import Path

import click

from treesearch.cli import common
from treesearch.evaluation.checks import Check


@click.command()
@click.argument("families", nargs=-1, metavar="[FAMILY]…")
@click.option(
    "--without",
    multiple=True,
    metavar="CHECK",
    type=click.Choice([str(check) for check in Check]),
    help="Leave a check out, to see which kernels it alone catches.",
)
@click.option("--only", multiple=True, metavar="NAME", help="Judge the kernel of that name alone.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Put each verdict into FILE at once; those that it holds already are taken from there.",
)
@click.option("-v", "--verbose", is_flag=True, help="List every kernel, not misses alone.")
@common.json_option
def audit(
    families: tuple[str, ...],
    without: tuple[str, ...],
    only: tuple[str, ...],
    output: Path | None,
    verbose: bool,
    as_json: bool,
) -> None:
    """Judge the kernels of the repository's audit, all families of attacks or those named.

    Each hostile kernel must be caught, each honest one that looks like it accepted; exits with 1 where one is not.
    What this machine cannot run counts as neither. While it runs, a worthless secret lies in the environment and the
    home folder, for kernels to look for.

    Verdicts are stored in the file of -o alone: with it, the same command goes on where it was stopped, as long as
    treesearch, the kernels and the device are the same.

    On a machine with nothing but Python, torch and a compiler: python -m treesearch.audit
    """
    from treesearch.audit import corpus, judging, report
    from treesearch.view import audit as view

    cases = corpus.choose(corpus.read(corpus.folder()), families, only)
    with view.Progress(common.err()) as progress:
        found = judging.audit(cases, without=frozenset(map(Check, without)), observe=progress, output=output)
    if as_json:
        common.print_json(report.data(found))
    else:
        common.out().print(view.summary(found, verbose=verbose), soft_wrap=True)
    if found.exit_code:
        raise click.exceptions.Exit(found.exit_code)
