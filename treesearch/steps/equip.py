"""What models that can call tools have at hand while they write a kernel: a build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from treesearch import prompts
from treesearch.evaluation.build import told
from treesearch.meter import Ticket
from treesearch.models import MOST_BUILDS, Workbench
from treesearch.records import Request, Turn
from treesearch.steps.task import Task


def equip(task: Task, request: Request, ticket: Ticket) -> Workbench | None:
    """The workbench of one question for a kernel, None in a language that is compiled on import.

    It builds as the kernel itself will be built, so that a source which is then given as the answer is built already.
    """
    if not task.language.sealed:
        return None

    def put(asked: Request) -> Request:
        note = prompts.workbench(task.language, MOST_BUILDS, templates=task.templates)
        return replace(asked, prompt=f"{asked.prompt}\n{note}")

    def keep(turn: Turn) -> None:
        task.archive.save_turn(request, ticket.heard(turn))
        task.asked.begin(task, request)

    def said(model: str) -> Sequence[Turn]:
        return [turn for turn in task.archive.turns(request.id) if turn.model == model]

    return Workbench(
        put=put,
        build=lambda source: told(task.language, task.evaluator.build(source)),
        has_room=lambda turns: task.evaluator.builds_here and ticket.has_room("".join(map(_read, turns))),
        said=said,
        keep=keep,
    )


def _read(turn: Turn) -> str:
    """What a model reads again of a turn."""
    return "\n".join([turn.message, *turn.reports])
