"""Policies: plain functions that pick the next round's parents from a lineage, and which ideas are tried.

Why not simply the fastest kernel? In the published Conv2D trajectory (7.02 ms down to 0.795 ms in 13
steps) steps 1, 3, 7 and 11 got *slower* and still lie on the winning line, and steps 4 and 8 only won back
what the step before had lost: a change of structure often pays only once a later step exploits it. Taking
only the fastest forgets such a kernel the moment it is measured, and a beam of the fastest soon holds small
variations of one kernel, which models answer with small variations of the same ideas. `diverse` therefore
limits how much of the beam one line may take, and keeps a place for another plan that moves, the fastest kernel
of another first kernel, or for a promising detour: a kernel that is not, or not yet, clearly faster than what it
came from. `fastest` is the plain baseline.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from treesearch.errors import UsageError
from treesearch.records import Entry, Idea, Relation

if TYPE_CHECKING:
    from treesearch.lineage import Lineage

Policy = Callable[["Lineage", int], tuple[str, ...]]
"""(lineage, beam) → ids of at most `beam` verified kernels; fewer if there are not as many."""

PER_LINE = 2
"""Places of a beam that kernels of one line may take, before empty places are filled."""

CLEAR_GAIN = 0.97
"""A kernel that takes at most this share of the time of all before it has clearly gained, where that has to be told
from times that were taken apart."""

LONGEST_DETOUR = 1.5
"""A detour may take at most this many times as long as the fastest kernel on its way from the root, and the fastest of
another first kernel as long as the fastest of all."""


def fastest(lineage: Lineage, beam: int) -> tuple[str, ...]:
    """The fastest verified kernels, whatever they have in common."""
    return _ids(lineage.verified()[:beam])


def diverse(lineage: Lineage, beam: int) -> tuple[str, ...]:
    """The fastest verified kernels, at most `PER_LINE` of one line and no source text twice.

    With a beam of three or more, the last place goes to a kernel that was never built upon, among those that speed
    alone does not pick: to the fastest of another first kernel, if it is clearly faster than all before it, else to the
    most promising detour. Places that the limit leaves empty go to the next fastest.
    """
    pool = _distinct(lineage.verified())
    chosen = _spread(lineage, pool, beam)
    other = next(
        (entry for entry in chain(_risers(lineage, pool), _detours(lineage, pool)) if entry not in chosen), None
    )
    if beam >= 3 and other:
        chosen = [*chosen[: beam - 1], other]
    rest = [entry for entry in pool if entry not in chosen]
    return _ids([*chosen, *rest][:beam])


def _ids(entries: Iterable[Entry]) -> tuple[str, ...]:
    return tuple(entry.id for entry in entries)


def _distinct(entries: Iterable[Entry]) -> list[Entry]:
    first: dict[str, Entry] = {}
    for entry in entries:
        first.setdefault(entry.digest, entry)
    return list(first.values())


def _spread(lineage: Lineage, pool: Iterable[Entry], beam: int) -> list[Entry]:
    taken: Counter[str] = Counter()
    chosen = []
    for entry in pool:
        line = _line(lineage, entry)
        taken[line] += 1
        if taken[line] <= PER_LINE:
            chosen.append(entry)
    return chosen[:beam]


def _line(lineage: Lineage, entry: Entry) -> str:
    """Implementations of one first idea count as one line: their differences are not a change of plan."""
    head = lineage.entry(lineage.line(entry.id))
    return head.proposed or head.id


def _risers(lineage: Lineage, pool: Iterable[Entry]) -> Iterator[Entry]:
    """The fastest kernel of each first kernel, if it has gained, nothing refines it yet and it takes no longer than a
    detour may; the fastest first."""
    fastest: dict[str, Entry] = {}
    for entry in pool:
        fastest.setdefault(lineage.path(entry.id)[0].id, entry)
    limit = LONGEST_DETOUR * min(map(_milliseconds, fastest.values()), default=0)
    return (entry for entry in fastest.values() if _milliseconds(entry) <= limit and _has_risen(lineage, entry))


def _has_risen(lineage: Lineage, entry: Entry) -> bool:
    before = _verified_before(lineage, entry)
    return bool(before) and _has_gained(entry, before) and not _built_upon(lineage, entry)


def _detours(lineage: Lineage, pool: Iterable[Entry]) -> Iterator[Entry]:
    """Detours that nothing refines yet, the most promising idea first; of equals the fastest."""
    promising = sorted(pool, key=lambda entry: entry.promise, reverse=True)
    return (entry for entry in promising if _is_detour(lineage, entry))


def _is_detour(lineage: Lineage, entry: Entry) -> bool:
    before = _verified_before(lineage, entry)
    if not before or entry.promise <= 1 or _has_gained(entry, before):
        return False
    if _milliseconds(entry) > LONGEST_DETOUR * min(map(_milliseconds, before)):
        return False
    return not _built_upon(lineage, entry)


def _verified_before(lineage: Lineage, entry: Entry) -> list[Entry]:
    return [above for above in lineage.path(entry.id)[:-1] if above.verified]


def _built_upon(lineage: Lineage, entry: Entry) -> bool:
    return bool(lineage.children(entry.id, (Relation.REFINES,)))


def _has_gained(entry: Entry, before: Sequence[Entry]) -> bool:
    """Whether a kernel is clearly faster than all that are `before` it, root first.

    Where the last of them, its parent, is the fastest and was launched in turn with it, that decides: it is called
    faster only if the lower bound of the interval beats 1, and then however small the gain.
    """
    fastest = min(before, key=_milliseconds)
    if fastest is before[-1] and entry.gain is not None:
        return entry.gain > 1
    return _milliseconds(entry) <= CLEAR_GAIN * _milliseconds(fastest)


def _milliseconds(entry: Entry) -> float:
    assert entry.milliseconds is not None, "a verified kernel is timed"
    return entry.milliseconds


# ── ideas ───────────────────────────────────────────────────────────────────────────────────────

CHANCES = {"low": 0.8, "medium": 0.5, "high": 0.2}
"""Chance that an idea pays, by the first of these words in its `risk`; without one, as for `medium`."""


def keep(
    ideas: Sequence[Idea], count: int, repeats: Callable[[Idea, Sequence[Idea]], bool] = lambda idea, kept: False
) -> tuple[Idea, ...]:
    """At most `count` ideas: in turn the best expected, the boldest and the safest of those left, as often as needed.

    Expected is the predicted gain times the chance of it, bold the largest predicted gain, safe the best chance. An
    idea of which `repeats`, given those kept before it, says that it is not worth trying beside them comes last.
    """
    left, kept = list(ideas), list[Idea]()
    for place in range(min(count, len(left))):
        fresh = [idea for idea in left if not repeats(idea, kept)]
        kept.append(max(fresh or left, key=_TASTES[place % len(_TASTES)]))
        left.remove(kept[-1])
    return tuple(kept)


def _chance(idea: Idea) -> float:
    words = re.findall(r"[a-z]+", idea.risk.lower())
    return next((CHANCES[word] for word in words if word in CHANCES), CHANCES["medium"])


def _expected(idea: Idea) -> tuple[float, float]:
    return _chance(idea) * (idea.expected_speedup - 1), _chance(idea)


def _bold(idea: Idea) -> tuple[float, float]:
    return idea.expected_speedup, -_chance(idea)


def _safe(idea: Idea) -> tuple[float, float]:
    return _chance(idea), idea.expected_speedup


_TASTES = (_expected, _bold, _safe)


POLICIES: dict[str, Policy] = {"diverse": diverse, "fastest": fastest}


def named(name: str) -> Policy:
    """The policy called `name`. Raises UsageError, naming the choices, if there is none."""
    if name not in POLICIES:
        raise UsageError(f"there is no policy {name!r}; choose one of {', '.join(sorted(POLICIES))}")
    return POLICIES[name]
