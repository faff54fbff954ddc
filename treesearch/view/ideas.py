"""What became of a run's ideas, and what a person has decided about them, for a terminal and as JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from treesearch.records import Decision, Verb
from treesearch.steps.decide import Decided, Fate
from treesearch.view import data, text
from treesearch.view.tables import bare_table


def table(fates: Sequence[Fate]) -> RenderableType:
    """Every idea of a run, one row each."""
    listed = bare_table(">round", "idea", "about", "by a person", "what became of it", "title")
    for one in fates:
        listed.add_row(
            str(one.proposal.round) if one.proposal else "–",
            Text(one.id, style="dim"),
            Text(one.parent[:6], style="dim"),
            text.hand(one.verbs),
            Text(text.one_line(state(one), 80)),
            Text(text.one_line(one.idea.title, 90)),
        )
    return listed


def state(fate: Fate) -> str:
    """What became of an idea, in a few words."""
    if fate.waits:
        return "waits for the next round"
    if fate.proposal is None:
        return "taken back"
    if fate.proposal.dropped:
        return f"dropped: {fate.proposal.dropped}"
    if fate.outcome is None:
        return "no verdict yet"
    ratio = f", {fate.outcome.ratio:.2f}× at best" if fate.outcome.ratio else ""
    return f"{fate.outcome.conclusion}{ratio}"


def decisions(made: Sequence[Decision]) -> RenderableType:
    """Who decided what about which idea of a run, and why; nothing where nobody did."""
    if not made:
        return Group()
    told = bare_table("when", "who", "what", "idea", "why")
    for one in made:
        title, why = text.one_line(one.idea.title, 90), text.one_line(one.reason, 160)
        told.add_row(one.created[:19], text.one_line(one.by), text.HAND[one.verb], Text(title), Text(why))
    return Group("", told)


def goes_on(made: Decided) -> str:
    """How the run comes to the round that a decision matters to."""
    run, number = made.run, made.round
    if number > run.config.rounds:
        return f"Run {run.id} has had its rounds: the same `treesearch run` command with --rounds {number} goes on."
    if run.stopped:
        stopped = text.one_line(run.stopped)
        again = f"Run {run.id} has stopped ({stopped}): the same `treesearch run` command"
        if made.decision.verb is Verb.BAN:
            return f"{again} with a larger limit goes on."
        return f"{again} goes on, with a larger limit unless that was patience."
    return f"Round {number} of {run.config.rounds} begins with it; the same `treesearch run` command goes on."


# ── as JSON values ──────────────────────────────────────────────────────────────────────────────


def fate(one: Fate) -> dict[str, Any]:
    """An idea with what became of it; `round` is null for one that no round has taken up."""
    outcome = one.outcome
    return {
        "id": one.id,
        "round": one.proposal.round if one.proposal else None,
        "parent": one.parent or None,
        "hand": [text.HAND[verb] for verb in one.verbs],
        "waits": one.waits,
        "dropped": (one.proposal.dropped or None) if one.proposal else None,
        "conclusion": str(outcome.conclusion) if outcome else None,
        "best": outcome.best.kernel.id if outcome else None,
        "ratio": outcome.ratio if outcome else None,
        "idea": data.idea(one.idea),
    }


def decided(made: Decided) -> dict[str, Any]:
    """A decision with the first round that it matters to, and how many rounds the run is to have as it is."""
    return {**data.decision(made.decision), "next_round": made.round, "rounds": made.run.config.rounds}
