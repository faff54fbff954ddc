"""A search on one problem."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from treesearch.records.asking import Sampling
from treesearch.records.digest import digest


@dataclass(frozen=True)
class Config:
    """How a search is run. All but `rounds` is part of a run's identity, so more rounds continue a run."""

    models: tuple[str, ...]
    language: str = "cpp"
    rounds: int = 5
    ideas: int = 8
    implementations: int = 3
    beam: int = 4
    repairs: int = 1
    policy: str = "diverse"
    deadline_seconds: float = 20.0
    sampling: Sampling = field(default_factory=Sampling)

    def __post_init__(self) -> None:
        if not self.models:
            raise ValueError("a run needs at least one model")
        if min(self.ideas, self.implementations, self.beam) < 1 or min(self.rounds, self.repairs) < 0:
            raise ValueError("ideas, implementations and beam start at 1; rounds and repairs at 0")

    @property
    def identity(self) -> str:
        sampling = (self.sampling.temperature, self.sampling.max_tokens, self.sampling.reasoning_effort)
        counts = (self.ideas, self.implementations, self.beam, self.repairs, self.policy, self.deadline_seconds)
        return digest(self.language, *self.models, *counts, *sampling)


class RunState(StrEnum):
    RUNNING = "running"
    DONE = "done"


@dataclass(frozen=True)
class Run:
    """The rounds on one problem, with one configuration, on one target device."""

    id: str
    problem: str
    """Digest of the problem's source."""
    problem_name: str
    config: Config
    device: str
    state: RunState = RunState.RUNNING
    created: str = ""


@dataclass(frozen=True)
class Round:
    """Round `number` of a run and the parents it started from, chosen once and then kept."""

    run: str
    number: int
    parents: tuple[str, ...]
