"""A person's hand in a search: ideas that are added, pinned or banned, and when a round takes them up.

A round has the decisions that it began with, so that a run which goes on asks what it asked before. The newest word
about an idea counts: pinning lifts a ban, and a ban takes back an idea that no round has taken up yet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from treesearch.lineage import Lineage
from treesearch.records import Decision, Entry, Idea, Proposal, Verb
from treesearch.steps.task import Task


@dataclass(frozen=True)
class Hand:
    """What a person's decisions mean for a round."""

    proposals: tuple[Proposal, ...] = ()
    """Ideas that are tried whatever models propose."""
    bans: tuple[Decision, ...] = ()

    @property
    def ideas(self) -> tuple[Idea, ...]:
        """Those that are tried."""
        return tuple(one.idea for one in self.proposals if not one.dropped)


def hand(task: Task, number: int, parents: Sequence[Entry], lineage: Lineage) -> Hand:
    """What the decisions that a round began with mean for it. `parents` are those it has."""
    known = task.archive.decisions(task.run.id)
    if not known:
        return Hand()
    begun = {id for one in task.archive.rounds(task.run.id) if one.number == number for id in one.decisions}
    decided = [one for one in known if one.id in begun]
    taken = task.archive.proposals(task.run.id)
    return Hand(_proposals(task, number, parents, lineage, waiting(decided, taken)), bans(decided))


def bans(decisions: Iterable[Decision]) -> tuple[Decision, ...]:
    """Those that hold, given all decisions in the order they were made."""
    holding: dict[str, Decision] = {}
    for one in decisions:
        holding.pop(one.idea.name, None)
        if one.verb is Verb.BAN:
            holding[one.idea.name] = one
    return tuple(holding.values())


def waiting(decisions: Iterable[Decision], proposals: Iterable[Proposal]) -> tuple[Decision, ...]:
    """Ideas to try that no round has taken up and no ban has taken back, given all decisions in order."""
    taken, wanted = {one.decision for one in proposals}, list[Decision]()
    for one in decisions:
        if one.verb is Verb.BAN:
            wanted = [other for other in wanted if other.idea.name != one.idea.name]
        elif one.id not in taken:
            wanted.append(one)
    return tuple(wanted)


def untried(task: Task) -> tuple[Decision, ...]:
    """Ideas that a person wants tried and that the run's next round would take up."""
    return waiting(task.archive.decisions(task.run.id), task.archive.proposals(task.run.id))


def allowed(lineage: Lineage) -> Lineage:
    """The lineage without kernels of banned ideas, and without what came from them."""
    banned = {one.id for one in lineage.entries if one.banned}
    if not banned:
        return lineage
    return lineage.without({one.id for one in lineage.entries if _comes_from(lineage, one, banned)})


def _comes_from(lineage: Lineage, entry: Entry, ids: Collection[str]) -> bool:
    return any(above.id in ids for above in lineage.path(entry.id))


def _proposals(
    task: Task, number: int, parents: Sequence[Entry], lineage: Lineage, wanted: Sequence[Decision]
) -> tuple[Proposal, ...]:
    """A proposal for each decision; one that cannot be tried says why."""
    made: list[Proposal] = []
    questions: set[tuple[str, str]] = set()
    for ordinal, decision in enumerate(wanted):
        parent = lineage.entry(decision.parent) if decision.parent else parents[0]
        question = parent.kernel.digest, decision.idea.name
        dropped = "" if parent.verified else f"kernel {parent.kernel.id}, which it is about, does not count any more"
        dropped = "the same as another of this round" if question in questions else dropped
        questions.add(question)
        place = task.run.id, number, ordinal, parent.kernel.id, ""
        made.append(Proposal(*place, decision.idea, dropped, decision.id, (decision,)))
    return tuple(made)
