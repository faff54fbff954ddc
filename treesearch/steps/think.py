"""Ask for ideas about each parent, and keep those that differ."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import wait

from treesearch import answers, prompts
from treesearch.errors import AnswersExhausted, Waiting
from treesearch.events import IdeasChosen, Moved, Step
from treesearch.lineage import Lineage
from treesearch.records import Entry, Idea, Proposal, Stage
from treesearch.steps.task import Task, asking, raise_gravest

NOT_RECORDED = "no recorded answer implements it"


def think(task: Task, number: int, parents: Sequence[Entry]) -> tuple[Proposal, ...]:
    """The round's proposals, stored together once every parent's ideas are in."""
    proposals = task.archive.proposals(task.run.id, number)
    if not proposals:
        if not parents:
            return ()
        proposals = _propose(task, number, parents)
        task.archive.save_proposals(proposals)
    task.observe(IdeasChosen(number, proposals))
    return proposals


def _propose(task: Task, number: int, parents: Sequence[Entry]) -> tuple[Proposal, ...]:
    lineage = task.lineage()
    shares = [len(range(index, task.run.config.ideas, len(parents))) for index in range(len(parents))]
    asked = [(parent, share) for parent, share in zip(parents, shares, strict=True) if share]
    with asking() as pool:
        futures = [
            pool.submit(_ideas_about, task, number, index, parent, share, lineage)
            for index, (parent, share) in enumerate(asked)
        ]
        wait(futures)
    raise_gravest([error for future in futures if (error := future.exception())])
    proposals: list[Proposal] = []
    for (parent, _), future in zip(asked, futures, strict=True):
        request, ideas = future.result()
        for idea in ideas:
            dropped = _likeness(idea, proposals) if task.implementable(parent, idea) else NOT_RECORDED
            proposals.append(Proposal(task.run.id, number, len(proposals), parent.kernel.id, request, idea, dropped))
    return tuple(proposals)


def _ideas_about(
    task: Task, number: int, index: int, parent: Entry, count: int, lineage: Lineage
) -> tuple[str, tuple[Idea, ...]]:
    """Id of the request and its ideas; an answer that holds none is asked for once more."""
    prompt = prompts.ideas(task.problem, task.language, task.device, parent, lineage, count)
    # Parents rank by live timings, so a recorded answer may hold more ideas than this parent's share here.
    limit = task.run.config.ideas if task.replays else count
    ask = task.next_ask(parent.kernel.digest, number)
    ideas: tuple[Idea, ...] = ()
    for ordinal in (ask, f"{ask}r1"):
        request = task.request(number, Stage.IDEAS, parent.kernel.digest, ordinal, prompt)
        task.observe(Moved(number, f"ideas.{index}", Step.ASKED))
        try:
            ideas = answers.ideas(task.ask(request, number + index).text, limit)
        except Waiting:
            task.observe(Moved(number, f"ideas.{index}", Step.DUE))
            raise
        except AnswersExhausted:
            task.observe(Moved(number, f"ideas.{index}", Step.MISSED))
            break
        if ideas:
            break
    return request.id, ideas


def _likeness(idea: Idea, proposals: Sequence[Proposal]) -> str:
    """Why an idea is not worth implementing beside those already kept, or nothing."""
    kept = [proposal.idea for proposal in proposals if not proposal.dropped]
    twin = answers.near_duplicate(idea, kept)
    return f"near-duplicate of {twin.title!r}" if twin else ""
