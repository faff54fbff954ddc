"""`treesearch run`: the main job."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treesearch.cli import common

if TYPE_CHECKING:
    from treesearch.api import Result
    from treesearch.archive import Archive
    from treesearch.records import Run
    from treesearch.roofline import Floor

EFFORTS = ("minimal", "low", "medium", "high")


@click.command()
@click.argument("problem")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="MODEL",
    help="A litellm string, file/DIR, cmd/COMMAND or replay/ARCHIVE; repeat to mix, =2 at its end for a double share.",
)
@click.option("--idea-model", "idea_models", multiple=True, metavar="MODEL", help="Ask this one for ideas instead.")
@click.option("--code-model", "code_models", multiple=True, metavar="MODEL", help="Ask this one for kernels instead.")
@click.option("--rounds", type=click.IntRange(min=0), help="Rounds after the first kernels [default: 5].")
@click.option("--ideas", type=click.IntRange(min=1), help="Ideas a round [default: 8].")
@click.option("--implementations", type=click.IntRange(min=1), help="Implementations of each idea [default: 3].")
@click.option("--beam", type=click.IntRange(min=1), help="Parents of a round, and first kernels [default: 4].")
@click.option("--repairs", type=click.IntRange(min=0), help="Repairs of a kernel that fails [default: 1].")
@click.option("--policy", default="diverse", show_default=True, help="How parents are picked: diverse or fastest.")
@click.option("--language", default="auto", show_default=True, help="Kernel language: auto, cpp, cuda or module.")
@common.device_option
@click.option(
    "--deadline",
    type=common.Seconds(),
    default=20.0,
    show_default=True,
    help="Seconds a candidate may run.",
)
@click.option("--temperature", type=float, help="Sampling temperature [default: the provider's].")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Longest answer in tokens [default: the provider's].")
@click.option("--effort", type=click.Choice(EFFORTS), help="Reasoning effort [default: the provider's].")
@click.option("--api-base", metavar="URL", help="Address of the models' endpoint [default: the provider's].")
@click.option(
    "--timeout",
    type=common.Seconds(),
    default=600.0,
    show_default=True,
    help="Seconds one answer may take.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    help="Questions to one model in flight at once.",
)
@click.option(
    "--calls-per-minute",
    type=click.FloatRange(min=0, min_open=True),
    help="Questions to one model that may begin in a minute [default: no limit].",
)
@click.option("--prompts", metavar="DIR", help="Templates that take the place of the shipped ones of the same name.")
@click.option(
    "--inspire", multiple=True, metavar="KERNEL", help="A kernel, of any problem, to show to models; repeatable."
)
@click.option("--wait", is_flag=True, help="With file/: wait for the answers instead of stopping with exit code 75.")
@click.option("--new", is_flag=True, help="Start afresh instead of continuing the same search.")
@common.archive_option
@common.json_option
def run(
    problem: str,
    models: tuple[str, ...],
    idea_models: tuple[str, ...],
    code_models: tuple[str, ...],
    rounds: int | None,
    ideas: int | None,
    implementations: int | None,
    beam: int | None,
    repairs: int | None,
    policy: str,
    language: str,
    device: str,
    deadline: float,
    temperature: float | None,
    max_tokens: int | None,
    effort: str | None,
    api_base: str | None,
    timeout: float,
    concurrency: int,
    calls_per_minute: float | None,
    prompts: str | None,
    inspire: tuple[str, ...],
    wait: bool,
    new: bool,
    archive: str | None,
    as_json: bool,
) -> None:
    """Search for a faster kernel of PROBLEM: a shipped problem's name, or the path of a KernelBench-format file.

    The same command continues a search that was interrupted or that waits for answers. Counts left out are, in a
    replay, those of the recorded search. Where DEVICE is another machine's, kernels are packed into bundles for
    `treesearch work` there, and their verdicts come back with `treesearch absorb`.
    """
    from treesearch import api
    from treesearch.archive import Archive
    from treesearch.models import ModelOptions
    from treesearch.records import Sampling
    from treesearch.view.progress import Progress

    if not models and not (idea_models and code_models):
        _say_which_model(api.default_models())
    with (
        Archive(common.named_archive(archive)) as store,
        Progress(common.err(), store.spend, partial(_floor, store)) as progress,
    ):
        result = api.search(
            problem,
            models=models,
            idea_models=idea_models,
            code_models=code_models,
            rounds=rounds,
            ideas=ideas,
            implementations=implementations,
            beam=beam,
            repairs=repairs,
            policy=policy,
            language=language,
            device=device,
            deadline_seconds=deadline,
            sampling=Sampling(temperature, max_tokens, effort),
            options=ModelOptions(
                timeout_seconds=timeout,
                concurrency=concurrency,
                calls_per_minute=calls_per_minute,
                api_base=api_base,
                wait=wait,
            ),
            prompts=prompts,
            inspire=inspire,
            archive=store,
            new=new,
            observe=progress,
        )
        progress.stop()
        _report(result, store, archive, as_json)


def _say_which_model(chosen: tuple[str, ...]) -> None:
    from treesearch import api

    if chosen != (api.SHIPPED,):
        click.echo(f"No --model is named; asking {chosen[0]}, whose key is set.", err=True)


def _floor(store: Archive, run: Run) -> Floor | None:
    from treesearch.roofline import floor

    return floor(store.problem(run.problem), store.device(run.device))


def _report(result: Result, store: Archive, archive: str | None, as_json: bool) -> None:
    """The trajectory, the winner's file, and what to type next."""
    from treesearch.view import data, tables, text

    winner, lineage, bound = result.winner, result.lineage, _floor(store, result.run)
    path = _save(result, store)
    measured = store.remeasurements([entry.kernel.id for entry in lineage.entries])
    if as_json:
        found = data.run(result.run, lineage, store.device(result.run.device), bound, measured)
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
    console.print(f"spent:  {text.spend(store.spend(result.run.id))}")
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
