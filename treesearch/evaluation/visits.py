"""In which order a candidate meets the deck, and what is done on each occasion."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from treesearch.evaluation.calls import Call
from treesearch.evaluation.checks import Check, Checks
from treesearch.evaluation.inputs import Deck
from treesearch.evaluation.lanes import Lane
from treesearch.records import Protocol

WATCHED = 3
WARM = 3
"""Visits of each kind. They are drawn among the checked calls, which nothing tells from the others."""


@dataclass(frozen=True)
class Visit:
    """One call, and what is done on the occasion beside checking and timing it."""

    call: Call
    burst: tuple[Call, ...]
    """Calls that are launched in a row afterwards."""
    watched: bool
    """Whether the candidate's CPU time is looked at while nothing is asked of it."""
    warm: bool
    """Whether it is timed once more, right after a launch on the same contents."""
    manners: tuple[str, ...] = ()
    """In which manners it is made once more each, as a user makes it."""


def plan(deck: Deck, lane: Lane, protocol: Protocol, chance: random.Random, without: Checks) -> list[Visit]:
    """Every call of the deck once and spares for the repeats, in an order drawn by lot; bursts come late in it, when
    there is a time to tell how long they should be."""

    def drawn(calls: Sequence[Call], check: Check, count: int) -> list[Call]:
        """Calls drawn by lot for a check, unless it is left out."""
        return [] if check in without else chance.sample(calls, min(count, len(calls)))

    nominal = [call for call in deck.calls if call.nominal]
    calls = [*deck.calls, *deck.spares[: len(nominal) * (protocol.repeats - 1)]]
    bursts = dict(zip(drawn(nominal, Check.BURSTS, len(deck.bursts)), deck.bursts, strict=False))
    watched = drawn(deck.calls, Check.CPU_TIME, WATCHED)
    warm = chance.sample(nominal, min(WARM, len(nominal)))
    manners = [manner for manner in lane.manners if manner not in deck.changing]
    checked = drawn([call for call in deck.calls if call.checked], Check.PLAIN_CALLS, len(manners))
    otherwise = {call: tuple(manners[place :: len(checked)]) for place, call in enumerate(checked)}
    if Check.SHUFFLE not in without:
        chance.shuffle(calls)
    early = [call for call in calls if call not in bursts]
    # A checked one comes first: what a process does in its first call alone is seen as well.
    if places := [place for place, call in enumerate(early) if call.checked]:
        early.insert(0, early.pop(places[0]))
    for call in bursts:
        early.insert(chance.randint((len(calls) + 1) // 2, len(early)), call)
    return [Visit(call, bursts.get(call, ()), call in watched, call in warm, otherwise.get(call, ())) for call in early]
