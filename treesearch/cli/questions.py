"""`treesearch questions`: what waits for an answer in a file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treesearch.cli import common

if TYPE_CHECKING:
    from treesearch.archive import Archive
    from treesearch.models import Question
    from treesearch.records import Run


@click.command()
@click.argument("run", required=False)
@common.archive_option
@common.json_option
def questions(run: str | None, archive: str | None, as_json: bool) -> None:
    """List the questions that RUN, by default the latest one, put into the folders of its file/DIR models.

    Folders are looked for below the current one, as the run itself does. Answer with `treesearch answer ID FILE`.
    """
    with common.archives(archive) as stores:
        store, found, _ = common.find(stores, run)
        due = [question for question in of_run(found) if is_open(store, question)]
    if as_json:
        common.print_json([_described(question) for question in due])
        return
    for question in due:
        click.echo(f"{question.id}  {question.stage or 'unknown':<7} {shlex.quote(str(question.prompt))}")
    if not due:
        click.echo(f"Run {found.id} waits for no answer.", err=True)


def folders(run: Run) -> list[Path]:
    """Folders of a run's `file/DIR` models."""
    from treesearch.models import FileModel, pool

    config = run.config
    names = pool.names(config.models, config.idea_models, config.code_models)
    return [FileModel(name).folder for name in names if name.startswith("file/")]


def of_run(run: Run) -> list[Question]:
    """The questions in a run's folders, but for those that another run put there."""
    from treesearch.models import lying

    found = [question for folder in folders(run) for question in lying(folder)]
    return [question for question in found if question.run in (run.id, "")]


def is_open(store: Archive, question: Question) -> bool:
    return not question.is_answered and store.answer(question.id) is None


def _described(question: Question) -> dict[str, object]:
    return {
        "id": question.id,
        "run": question.run or None,
        "round": question.round,
        "stage": question.stage,
        "prompt": str(question.prompt),
        "answer": str(question.answer),
    }
