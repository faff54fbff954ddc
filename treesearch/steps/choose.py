"""Pick a round's parents: once, and then keep them."""

from __future__ import annotations

from collections.abc import Sequence

from treesearch.events import RoundBegan
from treesearch.lineage import Lineage
from treesearch.records import Entry, Round, Stage
from treesearch.steps.goals import stop_where_enough
from treesearch.steps.hand import allowed
from treesearch.steps.renew import renew
from treesearch.steps.task import Task


def choose(task: Task, number: int) -> tuple[Entry, ...] | None:
    """The parents of a round, none of them where it starts from the problem itself, or where none stands any more.

    Kernels that are re-opened are judged first, so that parents are picked among verdicts that count. What came of
    ideas that a person has banned is no parent.
    Returns None where the search is over: kernels are verified, but the models have nothing more to say
    about any of them (a recorded archive that is exhausted).
    Raises LimitReached where a round need not begin, since a goal is reached.
    """
    renew(task)
    lineage = task.lineage()
    stored = {earlier.number: earlier for earlier in task.archive.rounds(task.run.id)}.get(number)
    if stored is None:
        stop_where_enough(task, number, lineage)
        decided = task.archive.decisions(task.run.id)
        picked = _pick(task, number, allowed(lineage)) if number else ()
        if number and not picked and lineage.fastest():
            return None
        stored = Round(task.run.id, number, picked, tuple(one.id for one in decided))
        task.archive.save_round(stored)
    parents = tuple(entry for kernel in stored.parents if (entry := lineage.entry(kernel)).verified)
    if parents or not stored.parents:
        task.observe(RoundBegan(number, task.run.config.rounds, parents))
    return parents


def _pick(task: Task, number: int, lineage: Lineage) -> tuple[str, ...]:
    """The policy's choice; where a recorded archive has no ideas about some of it, the fastest others instead."""
    beam = task.run.config.beam
    picked = [kernel for kernel in task.policy(lineage, beam) if lineage.entry(kernel).verified]
    chosen = _distinct(lineage, picked)
    kept = [kernel for kernel in chosen if _has_ideas(task, number, lineage.entry(kernel))]
    if len(kept) == len(chosen):
        return chosen
    able = [entry.id for entry in lineage.verified() if _has_ideas(task, number, entry)]
    return _distinct(lineage, [*kept, *(kernel for kernel in able if kernel not in kept)])[:beam]


def _distinct(lineage: Lineage, chosen: Sequence[str]) -> tuple[str, ...]:
    """Each source once: about the same text, the same question would be asked, and paid for, twice."""
    first = {lineage.entry(kernel).digest: kernel for kernel in reversed(chosen)}
    return tuple(kernel for kernel in chosen if kernel in first.values())


def _has_ideas(task: Task, number: int, entry: Entry) -> bool:
    parent = entry.digest
    return task.can_answer(Stage.IDEAS, parent, task.next_ask(parent, number))
