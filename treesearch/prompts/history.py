"""What prompts tell of a lineage: the way to a kernel, and what was tried. All of it is bounded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from treesearch.records import Entry

if TYPE_CHECKING:
    from treesearch.lineage import Lineage, Outcome

T = TypeVar("T")

TRIED_LIMIT = 30
"""Ideas listed as tried; those about the parent itself are sure of half, its siblings of a quarter."""

STEPS_LIMIT = 30
"""Steps listed of the way to the parent, the latest ones."""


@dataclass(frozen=True)
class Steps:
    entries: tuple[Entry, ...]
    skipped: int


@dataclass(frozen=True)
class Tried:
    here: tuple[Outcome, ...]
    """Ideas about the parent, the latest ones."""
    beside: tuple[Outcome, ...]
    """Ideas about the kernel that the parent came from, but for the one that led to it."""
    elsewhere: tuple[Outcome, ...]
    """Ideas about other kernels, the most and the least successful ones."""
    left_out: int


def steps(path: tuple[Entry, ...], limit: int = STEPS_LIMIT) -> Steps | None:
    """Verified kernels on the way to the parent. A root has not come a long way, so None."""
    verified = tuple(entry for entry in path if entry.verified)
    if len(verified) < 2:
        return None
    listed = _last(verified, limit)
    return Steps(listed, len(verified) - len(listed))


def tried(lineage: Lineage, parent: Entry, limit: int = TRIED_LIMIT) -> Tried:
    """What came of the ideas about a kernel, about the one that it came from, and about all others."""
    above = lineage.refined(parent.id)
    near = {parent.id, *([above.id] if above else [])}
    here = lineage.outcomes(parent.id)
    beside = [one for one in lineage.outcomes(above.id) if one.idea != parent.idea] if above else []
    others = [entry.id for entry in lineage.bases() if entry.id not in near]
    elsewhere = _ranked([outcome for other in others for outcome in lineage.outcomes(other)])
    return _bounded(here, _ranked(beside), elsewhere, limit)


def _ranked(outcomes: list[Outcome]) -> tuple[Outcome, ...]:
    return tuple(sorted(outcomes, key=lambda outcome: outcome.ratio or 0.0, reverse=True))


def _bounded(
    here: tuple[Outcome, ...], beside: tuple[Outcome, ...], elsewhere: tuple[Outcome, ...], limit: int
) -> Tried:
    """At most `limit` of them; places that one list leaves empty go to the next."""
    spare = limit - min(len(beside), limit // 4) - min(len(elsewhere), limit // 4)
    kept = _last(here, spare)
    near = _ends(beside, max(limit - len(kept) - min(len(elsewhere), limit // 4), 0))
    far = _ends(elsewhere, limit - len(kept) - len(near))
    found, listed = (here, beside, elsewhere), (kept, near, far)
    return Tried(*listed, sum(map(len, found)) - sum(map(len, listed)))


def _last(found: tuple[T, ...], count: int) -> tuple[T, ...]:
    return found[max(len(found) - count, 0) :]


def _ends(outcomes: tuple[Outcome, ...], count: int) -> tuple[Outcome, ...]:
    """The first and last of them, `count` in all."""
    if len(outcomes) <= count:
        return outcomes
    return outcomes[: count - count // 2] + outcomes[len(outcomes) - count // 2 :]
