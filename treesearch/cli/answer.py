"""`treesearch answer`: check an answer, and put it where the search looks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treesearch.cli import common
from treesearch.errors import UsageError

if TYPE_CHECKING:
    from treesearch.archive import Archive
    from treesearch.languages import Language
    from treesearch.models import Question
    from treesearch.records import Run


@click.command()
@click.argument("id")
@click.argument("file", type=click.File("rb"))
@click.option("--answered-by", default="", metavar="NAME", help="Who answered: a model, an agent, a person.")
@click.option("--help-used", default="", metavar="TEXT", help="What was at hand beside the prompt, such as 'nvcc'.")
@common.archive_option
def answer(id: str, file: click.File, answered_by: str, help_used: str, archive: str | None) -> None:
    """Answer the question ID, or the one that begins so, with FILE (- for standard input).

    An answer that the search could not use is refused with the reason. `treesearch questions` lists what is open.
    """
    from treesearch import languages
    from treesearch.models import parted

    given, text = parted(file.read())  # type: ignore[attr-defined]
    with common.archives(archive) as stores:
        store, run, question = _find(stores, id)
        if store.answer(question.id) is not None or question.is_answered:
            raise UsageError(f"Question {question.id} has been answered; what was stored stays as it is.")
    if reason := unusable(text, question, languages.named(run.config.language)):
        raise UsageError(f"{file.name} {reason}; {question.prompt} says what is asked.")
    who, at_hand = answered_by or given.get("model", ""), help_used or given.get("help", "")
    question.give(text, answered_by=who, help_used=at_hand)
    click.echo(f"{question.answer} is written; run the search's command again, or leave it running with --wait.")


def unusable(text: str, question: Question, language: Language) -> str:
    """Why a search could not use an answer; empty where it can."""
    from treesearch import answers
    from treesearch.records import Stage

    if not text.strip():
        return "is empty"
    if answers.ends_in_code(text):
        return "stops within a code block"
    ideas, code = answers.ideas(text, 1), answers.code(text, language.fences, language.entry)
    if question.stage is Stage.IDEAS and not ideas:
        return "holds no ideas, as JSON with a title and a mechanism each"
    if question.stage in (Stage.KERNEL, Stage.REPAIR) and code is None:
        return f"holds no code block with {language.entry.name}"
    return "" if ideas or code else "holds neither ideas nor code"


def _find(stores: list[Archive], id: str) -> tuple[Archive, Run, Question]:
    """The one question whose id starts so, in the folders of any run; the newest run's where nobody noted whose."""
    from treesearch.cli.questions import of_run

    lying = [(store, run, question) for store in stores for run in store.runs() for question in of_run(run)]
    alike = [place for place in reversed(lying) if place[2].id.startswith(id)]
    found = {question.id: (store, run, question) for store, run, question in alike}
    if not found:
        raise UsageError(f"No question has an id that starts with {id!r}; `treesearch questions` lists those of a run.")
    if len(found) > 1 and id not in found:
        raise UsageError(f"{id!r} is the beginning of more than one question: {', '.join(sorted(found))}.")
    return found.get(id) or next(iter(found.values()))
