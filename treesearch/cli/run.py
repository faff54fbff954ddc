"""`treesearch run`: the main job."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from treesearch.cli import common, settings

if TYPE_CHECKING:
    from treesearch.api import Result
    from treesearch.archive import Archive
    from treesearch.records import Run
    from treesearch.roofline import Floor


@click.command(params=[*settings.SETTINGS])
@click.argument("problem")
@settings.config_option
@click.option(
    "--inspire", multiple=True, metavar="KERNEL", help="A kernel, of any problem, to show to models; repeatable."
)
@click.option("--new", is_flag=True, help="Start afresh instead of continuing the same search.")
@click.option("--dry-run", is_flag=True, help="Ask nothing; say what the whole search would take.")
@common.archive_option
@common.json_option
@click.pass_context
def run(
    ctx: click.Context,
    /,
    problem: str,
    inspire: tuple[str, ...],
    new: bool,
    dry_run: bool,
    archive: str | None,
    as_json: bool,
    **_: object,
) -> None:
    """Search for a faster kernel of PROBLEM: a shipped problem's name, or the path of a KernelBench-format file.

    The same command continues a search that was interrupted, that waits for answers, or that ended at a limit which is
    larger now. Counts left out are, in a replay, those of the recorded search. Where DEVICE is another machine's,
    kernels are packed into bundles for `treesearch work` there, and their verdicts come back with `treesearch absorb`.

    Each setting is also a key of treesearch.toml and a variable, such as max_tokens and TREESEARCH_MAX_TOKENS for
    --max-tokens; `treesearch config` shows what holds and where it comes from.
    """
    from treesearch import api
    from treesearch.archive import Archive
    from treesearch.plan import default_models
    from treesearch.view.progress import Progress

    asked = settings.search_arguments(ctx)
    if not asked["models"] and not (asked["idea_models"] and asked["code_models"]):
        _say_which_model(default_models())
    asked["inspire"] = inspire
    if dry_run:
        _estimate(problem, asked, archive, as_json)
        return
    with (
        Archive(common.named_archive(archive)) as store,
        Progress(common.err(), store.spend, partial(_floor, store)) as progress,
    ):
        result = api.search(problem, **asked, archive=store, new=new, observe=progress)
        progress.stop()
        _report(result, store, archive, as_json)


def _estimate(problem: str, asked: dict[str, Any], archive: str | None, as_json: bool) -> None:
    from treesearch import api
    from treesearch.view import data, money

    found = api.estimate(problem, archive=archive, **asked)
    if as_json:
        common.print_json(data.estimate(found))
    else:
        common.out().print(money.estimate(found, asked["budget"]))


def _say_which_model(chosen: tuple[str, ...]) -> None:
    from treesearch.plan import SHIPPED

    if chosen != (SHIPPED,):
        click.echo(f"No --model is named; asking {chosen[0]}, whose key is set.", err=True)


def _floor(store: Archive, run: Run) -> Floor | None:
    from treesearch.roofline import floor

    return floor(store.problem(run.problem), store.device(run.device))


def _report(result: Result, store: Archive, archive: str | None, as_json: bool) -> None:
    """The trajectory, the winner's file, and what to type next."""
    from treesearch.view import data, money, tables

    winner, lineage, bound = result.winner, result.lineage, _floor(store, result.run)
    path = _save(result, store)
    measured, spent = store.remeasurements([entry.kernel.id for entry in lineage.entries]), store.spend(result.run.id)
    if as_json:
        found = data.run(result.run, lineage, store.device(result.run.device), bound, measured, spent)
        common.print_json({**found, "path": str(path)})
        return
    console = common.out()
    console.print()
    console.print(tables.trajectory(lineage.path(winner.kernel.id)))
    console.print()
    console.print(tables.winner(winner, measured, result.run.device))
    if bound:
        console.print(tables.floor(winner, bound))
    console.print(tables.accuracy(winner))
    console.print(f"kernel: {path}", markup=False, soft_wrap=True)
    option = f" --archive {shlex.quote(archive if '://' not in archive else store.url)}" if archive else ""
    console.print(money.spending(result.run, spent), soft_wrap=True)
    console.print(f"next:   treesearch show {winner.kernel.id}{option}", markup=False, soft_wrap=True)


def _save(result: Result, store: Archive) -> Path:
    """Write the winner, and its header if it has one, below the current folder, ready to be compiled."""
    from treesearch import languages
    from treesearch.errors import MachineError

    language = languages.named(result.run.config.language)
    folder = Path(".treesearch") / "winners" / result.run.problem_name
    path = folder / f"{result.winner.kernel.id}{language.suffix}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(result.winner.kernel.source or "")
        if language.sealed:
            (folder / "problem.h").write_text(language.header(store.problem(result.run.problem)))
    except OSError as error:
        raise MachineError(
            f"The search is done, but {path} cannot be written: {error.strerror}; "
            f"`treesearch show {result.winner.kernel.id}` prints the winner."
        ) from error
    return path
