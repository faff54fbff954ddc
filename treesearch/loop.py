"""The search: each round asks models for ideas, branches each into kernels, judges them, and picks new parents."""

from __future__ import annotations

from treesearch.errors import NoUsableAnswer
from treesearch.lineage import Lineage
from treesearch.steps.attempt import attempt
from treesearch.steps.choose import choose
from treesearch.steps.finish import finish
from treesearch.steps.task import Task
from treesearch.steps.think import think


def search(task: Task) -> Lineage:
    """Rounds until the budget is spent, then the winner's final measurement; returns the whole lineage.

    What a run does next is a function of the archive's rows alone: it can be killed anywhere and started
    again, because every answer and every verdict is stored before it is used.

    Raises Waiting while answers are due from outside, ModelUnavailable where a model cannot be asked, and
    NoUsableAnswer where models answer but never with anything usable.
    """
    for number in range(task.run.config.rounds + 1):
        parents = choose(task, number)
        if parents is None:
            break
        proposals = think(task, number, parents)
        if proposals or not parents:
            attempt(task, number, proposals)
    finish(task)
    if not task.any_verified():
        raise NoUsableAnswer(f"No kernel was verified: {task.tally()}. Try another model; `treesearch show` lists why.")
    asked = any(earlier.parents for earlier in task.archive.rounds(task.run.id))
    if asked and not task.archive.proposals(task.run.id):
        raise NoUsableAnswer(
            "The models answered, but no round brought a usable idea, so only first kernels were tried. Read the "
            "answers with `treesearch show`, or try another model."
        )
    task.archive.finish(task.run.id, task.run.config.rounds)
    return task.lineage()
