"""What a search tells whoever watches it. Standard library only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from treesearch.records import Entry, Proposal, Request, Run


class Step(StrEnum):
    """Where a candidate of the current round is."""

    ASKED = "asked"
    BUILDING = "building"
    QUEUED = "queued"
    JUDGING = "judging"
    DUE = "due"
    """Its answer is awaited from outside."""
    ELSEWHERE = "for another machine"
    """It is ready for a device that is somewhere else."""
    MISSED = "missed"
    """A recorded archive holds no answer for it."""
    LEFT_OUT = "left out"
    """The budget does not allow its question."""


@dataclass(frozen=True)
class RunOpened:
    run: Run
    entries: tuple[Entry, ...]
    """Kernels that the same command left when it ran before."""


@dataclass(frozen=True)
class RoundBegan:
    number: int
    rounds: int
    parents: tuple[Entry, ...]


@dataclass(frozen=True)
class IdeasChosen:
    number: int
    proposals: tuple[Proposal, ...]


@dataclass(frozen=True)
class Moved:
    """A candidate reached a step."""

    number: int
    ordinal: str
    step: Step


@dataclass(frozen=True)
class Preparing:
    """Something that takes a while before the first verdict."""

    what: str


@dataclass(frozen=True)
class Judged:
    entry: Entry
    fresh: bool
    """False for a verdict that the archive already held."""


@dataclass(frozen=True)
class Asking:
    """A model failed to answer and is being asked again."""

    request: Request
    error: str


@dataclass(frozen=True)
class Replaying:
    """Answers come from a recording. `recording` says of when and by which model."""

    recording: str


@dataclass(frozen=True)
class BudgetUsed:
    """Half of a limit, or most of it, is used."""

    words: str


@dataclass(frozen=True)
class Stopped:
    """The search ends although rounds are left."""

    reason: str


Event = RunOpened | Replaying | RoundBegan | IdeasChosen | Moved | Preparing | Judged | Asking | BudgetUsed | Stopped
Observer = Callable[[Event], None]


def silent(event: Event) -> None:
    """An observer that shows nothing."""
