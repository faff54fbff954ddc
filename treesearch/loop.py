"""The search: each round asks models for ideas, branches each into kernels, judges them, and picks new parents."""

from __future__ import annotations

from treesearch.errors import LimitReached, NoUsableAnswer
from treesearch.events import Stopped
from treesearch.lineage import Lineage
from treesearch.steps.attempt import attempt
from treesearch.steps.choose import choose
from treesearch.steps.finish import finish
from treesearch.steps.task import Task
from treesearch.steps.think import think

RETRY = "Try another model; `treesearch show` lists why."


def search(task: Task) -> Lineage:
    """Rounds until none is left or the budget is spent, then the winner's final measurement; returns the whole lineage.

    What a run does next is a function of the archive's rows alone: it can be killed anywhere and started
    again, because every answer and every verdict is stored before it is used.

    Raises Waiting while answers are due from outside, ModelUnavailable where a model cannot be asked, and
    NoUsableAnswer where models answer but never with anything usable.
    """
    stopped = ""
    try:
        for number in range(task.run.config.rounds + 1):
            parents = choose(task, number)
            if parents is None:
                break
            proposals = think(task, number, parents)
            if proposals or not parents:
                attempt(task, number, proposals)
    except LimitReached as limit:
        stopped = str(limit)
        task.observe(Stopped(stopped))
    finish(task)
    _refuse_nothing(task, stopped)
    task.archive.finish(task.run.id, task.run.config.rounds, stopped)
    return task.lineage()


def _refuse_nothing(task: Task, stopped: str) -> None:
    """Raise NoUsableAnswer where the models brought nothing to show."""
    if not task.any_verified():
        advice = f"The search stopped: {stopped}. The same command with a larger budget goes on." if stopped else RETRY
        raise NoUsableAnswer(f"No kernel was verified: {task.tally()}. {advice}")
    asked = any(earlier.parents for earlier in task.archive.rounds(task.run.id))
    if asked and not stopped and not task.archive.proposals(task.run.id):
        raise NoUsableAnswer(
            "The models answered, but no round brought a usable idea, so only first kernels were tried. Read the "
            "answers with `treesearch show`, or try another model."
        )
