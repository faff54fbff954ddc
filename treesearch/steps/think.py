"""Ask for ideas about each parent, and keep a spread of those that are new."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import wait
from dataclasses import dataclass
from functools import partial

from treesearch import answers, likeness, policies, prompts
from treesearch.errors import AnswersExhausted, LimitReached, Waiting
from treesearch.events import IdeasChosen, Moved, Step
from treesearch.lineage import Conclusion, Lineage
from treesearch.records import Decision, Entry, Idea, Proposal, Stage
from treesearch.steps.hand import Hand, hand
from treesearch.steps.task import Task, asking, raise_gravest

NOT_RECORDED = "no recorded answer implements it"
NOT_PICKED = "others were expected to gain more, were bolder or were safer"


@dataclass(frozen=True)
class Thought:
    """An idea that an answer held, and why it is dropped, or nothing."""

    idea: Idea
    answer: str
    """Id of the request."""
    dropped: str = ""


@dataclass(frozen=True)
class Known:
    """What is known when a round's ideas are asked for."""

    lineage: Lineage
    hand: Hand


@dataclass(frozen=True)
class Share:
    """How many ideas about a parent a round is to have."""

    index: int
    """Place among the round's parents."""
    parent: Entry
    count: int

    @property
    def asked(self) -> int:
        """Half as many again, so that there is something to pick from."""
        return self.count + (self.count + 1) // 2


def think(task: Task, number: int, parents: Sequence[Entry]) -> tuple[Proposal, ...]:
    """The round's proposals, those by a person's hand first, stored together once every parent's ideas are in."""
    proposals = task.archive.proposals(task.run.id, number)
    if not proposals:
        if not parents:
            return ()
        proposals = _propose(task, number, parents)
        task.archive.save_proposals(proposals)
    task.observe(IdeasChosen(number, proposals))
    return proposals


def _propose(task: Task, number: int, parents: Sequence[Entry]) -> tuple[Proposal, ...]:
    lineage, shares = task.lineage(), _shares(task, parents)
    known = Known(lineage, hand(task, number, parents, lineage))
    with asking() as pool:
        futures = [pool.submit(_ideas_about, task, number, share, known) for share in shares]
        wait(futures)
    raise_gravest([error for future in futures if (error := future.exception())])
    answered = [future.result() for future in futures]
    subjects = _subjects(task, answered)
    proposals = list(known.hand.proposals)
    for share, thoughts in zip(shares, answered, strict=True):
        kept = [proposal.idea for proposal in proposals if not proposal.dropped]
        for thought in _sifted(task, share, thoughts, kept, subjects):
            place = len(proposals), share.parent.id, thought.answer
            proposals.append(Proposal(task.run.id, number, *place, thought.idea, thought.dropped))
    return tuple(proposals)


def _subjects(task: Task, answered: Sequence[Sequence[Thought]]) -> likeness.Subjects:
    """What ideas are about, told by the words of all that the run has had."""
    earlier = (proposal.idea for proposal in task.archive.proposals(task.run.id))
    return likeness.Subjects([*earlier, *(thought.idea for thoughts in answered for thought in thoughts)])


def _shares(task: Task, parents: Sequence[Entry]) -> list[Share]:
    """The round's ideas, dealt out to the parents in turn."""
    counts = [len(range(index, task.run.config.ideas, len(parents))) for index in range(len(parents))]
    dealt = enumerate(zip(parents, counts, strict=True))
    return [Share(index, parent, count) for index, (parent, count) in dealt if count]


def _sifted(
    task: Task, share: Share, thoughts: Sequence[Thought], kept: Sequence[Idea], subjects: likeness.Subjects
) -> tuple[Thought, ...]:
    """The thoughts about a parent, dropped where they repeat those `kept` for parents before it, or are not picked.

    Where there is a choice, what is picked is about something else than what is kept: answers about two parents often
    have one idea in common. What a replay has implementations of is all tried: it was picked when it was recorded.
    """
    able = [
        thought if thought.dropped or task.implementable(share.parent, thought.idea) else _drop(thought, NOT_RECORDED)
        for thought in thoughts
    ]
    if task.replays:
        return _distinct(able, kept)
    known = likeness.Known(kept)
    new = [_unlike(thought, known) for thought in able]
    left = [thought.idea for thought in new if not thought.dropped]
    best, tried = policies.keep(left, share.count), _picked(left, share, kept, subjects)
    reasons = {idea: _sameness(idea, subjects, (*kept, *tried)) for idea in best} | dict.fromkeys(tried, "")
    return tuple(
        thought if thought.dropped else _drop(thought, reasons.get(thought.idea, NOT_PICKED)) for thought in new
    )


def _picked(ideas: Sequence[Idea], share: Share, kept: Sequence[Idea], subjects: likeness.Subjects) -> tuple[Idea, ...]:
    return policies.keep(ideas, share.count, lambda idea, before: bool(subjects.shared(idea, (*kept, *before))))


def _sameness(idea: Idea, subjects: likeness.Subjects, tried: Sequence[Idea]) -> str:
    """Why one of the best ideas is passed over for another."""
    same = subjects.shared(idea, tried)
    return f"about the same as {same.title!r}, which is tried" if same else NOT_PICKED


def _drop(thought: Thought, why: str) -> Thought:
    return Thought(thought.idea, thought.answer, why)


def _unlike(thought: Thought, known: likeness.Known) -> Thought:
    """The thought, dropped where it nearly repeats a known idea."""
    twin = None if thought.dropped else known.twin(thought.idea)
    return _drop(thought, f"near-duplicate of {twin.title!r}") if twin else thought


# ── asking ──────────────────────────────────────────────────────────────────────────────────────


def _ideas_about(task: Task, number: int, share: Share, known: Known) -> tuple[Thought, ...]:
    """What a model thinks about a parent, asked once more where the first answer holds too little that is new."""
    digest = share.parent.digest
    ask, tried = task.next_ask(digest, number), (*_tried(known.lineage, share.parent), *known.hand.ideas)
    thoughts = _ask(task, number, share, known, ask, ())
    new = [thought for thought in _distinct(thoughts, tried) if not thought.dropped]
    again = f"{ask}r1"
    if (task.replays or len(new) < share.count) and task.can_answer(Stage.IDEAS, digest, again):
        thoughts += _ask(task, number, share, known, again, [thought.idea for thought in thoughts])
    return thoughts if task.replays else _distinct(thoughts, tried)


def _ask(
    task: Task, number: int, share: Share, known: Known, ordinal: str, named: Sequence[Idea]
) -> tuple[Thought, ...]:
    """The ideas of one answer, dropped where they are banned; none where no recorded answer is left."""
    about = task.problem, task.language, task.device, share.parent, known.lineage, share.asked
    bans = known.hand.bans
    render = partial(prompts.ideas, *about, bank=task.bank, known=named, banned=bans, templates=task.templates)
    request = task.request(number, Stage.IDEAS, share.parent.digest, ordinal, render())
    task.observe(Moved(number, f"ideas.{share.index}", Step.ASKED))
    try:
        answer = task.ask(request, number + share.index, prompts.shorter(render))
    except (Waiting, LimitReached) as missing:
        step = Step.DUE if isinstance(missing, Waiting) else Step.LEFT_OUT
        task.observe(Moved(number, f"ideas.{share.index}", step))
        raise
    except AnswersExhausted:
        task.observe(Moved(number, f"ideas.{share.index}", Step.MISSED))
        return ()
    # Parents rank by live timings, so a recorded answer may hold more ideas than this parent's share here.
    limit = 2 * task.run.config.ideas if task.replays else share.asked
    return tuple(_permitted(Thought(idea, request.id), bans) for idea in answers.ideas(answer.text, limit))


def _permitted(thought: Thought, bans: Sequence[Decision]) -> Thought:
    """The thought, dropped where it nearly repeats a banned idea."""
    twin = likeness.near_duplicate(thought.idea, [ban.idea for ban in bans])
    return _drop(thought, f"near-duplicate of {twin.title!r}, which is banned") if twin else thought


def _tried(lineage: Lineage, parent: Entry) -> tuple[Idea, ...]:
    """Ideas that are in a kernel already, or of which it is known whether they pay on it."""
    before = [entry.idea for entry in lineage.path(parent.id)]
    same = [entry for entry in lineage.verified() if entry.digest == parent.digest]
    outcomes = [outcome for entry in same for outcome in lineage.outcomes(entry.id)]
    settled = [outcome.idea for outcome in outcomes if outcome.conclusion is not Conclusion.INCONCLUSIVE]
    return tuple(idea for idea in (*before, *settled) if idea)


def _distinct(thoughts: Sequence[Thought], tried: Sequence[Idea]) -> tuple[Thought, ...]:
    """The thoughts in order, dropped where they nearly repeat what was tried or an earlier one of them."""
    known, found = likeness.Known(tried), list[Thought]()
    for thought in thoughts:
        found.append(_unlike(thought, known))
        if not found[-1].dropped:
            known.add(thought.idea)
    return tuple(found)
