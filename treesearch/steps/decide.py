"""A person adds, pins or bans an idea: what may be decided about which, and what became of each."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treesearch import answers
from treesearch.archive import Archive
from treesearch.archive.reading import Reader
from treesearch.errors import UsageError
from treesearch.lineage import Lineage, Outcome
from treesearch.records import Decision, Idea, Proposal, Run, Verb
from treesearch.steps.hand import waiting
from treesearch.steps.recorded import replays_only


@dataclass(frozen=True)
class Fate:
    """An idea of a run, and what has become of it."""

    id: str
    """Of the proposal; of the addition, for an idea that no round has taken up."""
    idea: Idea
    verbs: tuple[Verb, ...]
    proposal: Proposal | None = None
    """None for an idea that was added and that no round has taken up."""
    parent: str = ""
    """Id of the kernel that it is about; empty while that is open."""
    waits: bool = False
    """Whether the next round tries it."""
    outcome: Outcome | None = None

    @property
    def under_way(self) -> bool:
        """Whether a round is trying it, and has no verdict yet."""
        return self.proposal is not None and not self.proposal.dropped and self.outcome is None

    def answers_to(self, name: str) -> bool:
        """Whether it is meant by the beginning of an id, that of the addition included, or by its whole title."""
        ids = (self.id, self.proposal.decision if self.proposal else "")
        start = name.strip().lower()
        return bool(start) and (any(id.startswith(start) for id in ids) or start == self.idea.title.lower())


@dataclass(frozen=True)
class Decided:
    """A decision that was stored, and the first round that it matters to."""

    run: Run
    decision: Decision
    round: int


def add(archive: Archive, run: Run, idea: Idea, *, parent: str = "", reason: str = "") -> Decided:
    """Have an idea tried in the next round, about a kernel of the run or, without a `parent`, that round's first.

    Raises UsageError for a kernel that is none of the run's or not verified, for an idea that waits already, and for a
    run whose kernels are all replayed.
    """
    _refuse_replay(run)
    about = _parent(archive, run, parent) if parent else ""
    for one in waiting(archive.decisions(run.id), archive.proposals(run.id)):
        if (one.idea.name, one.parent) == (idea.name, about):
            raise UsageError(f"Idea {one.id}, {idea.title!r}, waits for the next round of run {run.id} already.")
    return _store(archive, run, Decision(run.id, Verb.ADD, idea, about, reason=reason.strip()))


def pin(archive: Archive, run: Run, name: str, *, reason: str = "") -> Decided:
    """Have an idea tried in the next round that was proposed before; a ban on it is lifted.

    Raises UsageError for one that is unknown, waits or is under way, or whose parent does not count any more.
    """
    _refuse_replay(run)
    fate = find(archive, run, name)
    if fate.waits or (fate.under_way and Verb.BAN not in fate.verbs):
        when = "waits for the next round" if fate.waits else "is being tried"
        raise UsageError(f"Idea {fate.id}, {fate.idea.title!r}, {when} already.")
    parent = _parent(archive, run, fate.parent) if fate.parent else ""
    return _store(archive, run, Decision(run.id, Verb.PIN, fate.idea, parent, fate.id, reason.strip()))


def ban(archive: Archive, run: Run, name: str, *, reason: str = "") -> Decided:
    """Keep an idea, and what nearly repeats it, out of the rounds to come, and what came of it from being parents.

    Raises UsageError for one that is unknown or banned already.
    """
    fate = find(archive, run, name)
    if Verb.BAN in fate.verbs:
        raise UsageError(f"Idea {fate.id}, {fate.idea.title!r}, is banned already; `treesearch idea pin` lifts that.")
    return _store(archive, run, Decision(run.id, Verb.BAN, fate.idea, fate.parent, fate.id, reason.strip()))


def stated(title: str, mechanism: str, category: str = "", expected_speedup: float = 1.0) -> Idea:
    """A person's idea. Raises UsageError for texts that are empty or too long."""
    texts = {"title": (title, answers.TITLE_LIMIT), "mechanism": (mechanism, answers.MECHANISM_LIMIT)}
    for name, (text, limit) in texts.items():
        if not text.strip():
            raise UsageError(f"An idea needs a {name}.")
        if len(text) > limit:
            raise UsageError(f"The {name} has {len(text)} characters, and {limit} is the most.")
    found = answers.idea(
        {"title": title, "mechanism": mechanism, "category": category, "expected_speedup": expected_speedup}
    )
    if found is None:
        raise UsageError("The idea's title or mechanism holds nothing that can be printed.")
    return found


def fates(archive: Reader, run: Run, lineage: Lineage | None = None) -> tuple[Fate, ...]:
    """Every idea of a run by round, those that no round has taken up last. `lineage` is the run's, if it was read."""
    proposals, decisions = archive.proposals(run.id), archive.decisions(run.id)
    known = lineage or archive.lineage(run.id)
    return (*_proposed(proposals, decisions, known), *_untried(proposals, decisions))


def _proposed(proposals: Sequence[Proposal], decisions: Sequence[Decision], lineage: Lineage) -> Iterator[Fate]:
    pinned = {one.about for one in waiting(decisions, proposals)}
    outcomes = dict(_outcomes(lineage))
    for one in proposals:
        waits, outcome = one.id in pinned, outcomes.get(one.id)
        yield Fate(one.id, one.idea, one.verbs, one, one.parent, waits, outcome)


def _outcomes(lineage: Lineage) -> Iterator[tuple[str, Outcome]]:
    """What came of each proposal, by its id."""
    for base in lineage.bases():
        for outcome in lineage.outcomes(base.kernel.id):
            if outcome.best.kernel.proposal:
                yield outcome.best.kernel.proposal.id, outcome


def _untried(proposals: Sequence[Proposal], decisions: Sequence[Decision]) -> Iterator[Fate]:
    """Additions that no round has taken up, whether they wait or were taken back."""
    taken, due = {one.decision for one in proposals}, waiting(decisions, proposals)
    pinned = {one.about for one in due}
    for one in decisions:
        if one.verb is Verb.ADD and one.id not in taken:
            waits = one in due or one.id in pinned
            verbs = (Verb.ADD,) if waits else (Verb.ADD, Verb.BAN)
            yield Fate(one.id, one.idea, verbs, None, one.parent, waits)


def find(archive: Reader, run: Run, name: str) -> Fate:
    """The idea of a run that an id, its beginning or a title names. Raises UsageError, naming the closest, unless
    there is exactly one."""
    known = fates(archive, run)
    found = [one for one in known if one.answers_to(name)]
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(one.id for one in found)
        raise UsageError(f"{name!r} names more than one idea of run {run.id}: {ids}.")
    if not known:
        raise UsageError(f"Run {run.id} has no idea yet; `treesearch idea add {run.id}` adds one.")
    names = {text.lower(): one for one in known for text in (one.idea.title, one.id)}
    near = names[difflib.get_close_matches(name.lower(), names, n=1, cutoff=0)[0]]
    raise UsageError(
        f"Run {run.id} has no idea {name!r}; the closest is {near.id}, {near.idea.title!r}, and `treesearch idea list "
        f"{run.id}` has all."
    )


def _refuse_replay(run: Run) -> None:
    if replays_only(run.config.code_models or run.config.models):
        raise UsageError(
            f"Run {run.id} replays recorded answers, and none of them implements what a person adds or pins; search "
            "with a model that can (--model)."
        )


def _parent(archive: Archive, run: Run, name: str) -> str:
    """The full id of a verified kernel of the run."""
    entries = {entry.kernel.id: entry for entry in archive.entries(run.id)}
    found = [id for id in entries if id.startswith(name.strip().lower())]
    if len(found) > 1:
        raise UsageError(f"{name!r} is the beginning of more than one kernel of run {run.id}: {', '.join(found[:8])}.")
    if not found:
        near = difflib.get_close_matches(name, entries, n=1, cutoff=0)
        hint = f"the closest is {near[0]}" if near else "it has none yet"
        raise UsageError(f"Run {run.id} has no kernel {name!r}; {hint}.")
    if not entries[found[0]].verified:
        raise UsageError(
            f"Kernel {found[0]} is not verified, so nothing can build upon it; add the idea about another one "
            f"(`treesearch idea add {run.id} --parent KERNEL`)."
        )
    return found[0]


def _store(archive: Archive, run: Run, decision: Decision) -> Decided:
    stored = archive.save_decision(decision)
    begun = [one.number for one in archive.rounds(run.id)]
    return Decided(run, stored, max([0, *begun]) + 1)
