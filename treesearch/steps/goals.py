"""When a search has found enough: looked at before a round begins, never in the middle of one."""

from __future__ import annotations

import math
from collections.abc import Callable

from treesearch import roofline
from treesearch.errors import LimitReached
from treesearch.lineage import Lineage
from treesearch.policies import CLEAR_GAIN
from treesearch.steps.hand import untried
from treesearch.steps.task import Task


def stop_where_enough(task: Task, number: int, lineage: Lineage) -> None:
    """Raise LimitReached where round `number` need not begin: a goal is reached, or patience has run out."""
    for goal in GOALS:
        if reason := goal(task, number, lineage):
            raise LimitReached(reason)


def _fast_enough(task: Task, number: int, lineage: Lineage) -> str:
    """By the lower end of the interval, so that luck in one measurement does not end a search."""
    wanted, fastest = task.run.config.budget.speedup, lineage.fastest()
    measured = fastest.evaluation.measurement if fastest and fastest.evaluation else None
    if wanted is None or measured is None or measured.speedup.low < wanted:
        return ""
    return f"the winner is at least {measured.speedup.low:.2f}× as fast as torch, and {wanted:g}× was the goal"


def _near_the_floor(task: Task, number: int, lineage: Lineage) -> str:
    wanted, fastest = task.run.config.budget.floor, lineage.fastest()
    bound = roofline.floor(task.problem, task.device)
    if wanted is None or bound is None or fastest is None or fastest.milliseconds is None:
        return ""
    share = bound.milliseconds / fastest.milliseconds
    return f"the winner has {share:.0%} of the floor's speed, and {wanted:.0%} was the goal" if share >= wanted else ""


def _out_of_patience(task: Task, number: int, lineage: Lineage) -> str:
    """A person's idea is a reason to go on: what waits is tried first."""
    patience = task.run.config.budget.patience
    if patience is None or number - 1 - last_gain(lineage, number) < patience or untried(task):
        return ""
    return f"{patience} round{'' if patience == 1 else 's'} brought no clear gain"


def last_gain(lineage: Lineage, number: int) -> int:
    """The last round before `number` whose fastest kernel took clearly less time than the fastest until the last one.

    Small gains add up: each round is compared with the one that gained last. Round 0 where nothing is verified.
    """
    fastest: dict[int, float] = {}
    for one in lineage.verified():
        fastest.setdefault(one.round, one.milliseconds or math.inf)
    gained, best = 0, math.inf
    for earlier, milliseconds in sorted(fastest.items()):
        if earlier < number and milliseconds <= CLEAR_GAIN * best:
            gained, best = earlier, milliseconds
    return gained


GOALS: tuple[Callable[[Task, int, Lineage], str], ...] = (_fast_enough, _near_the_floor, _out_of_patience)
"""Each says why the search is over, or nothing."""
