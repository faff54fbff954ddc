"""A search on one problem."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from treesearch.records.asking import Sampling
from treesearch.records.budgets import Budget, Price
from treesearch.records.digest import digest


@dataclass(frozen=True)
class Config:
    """How a search is run.

    `rounds`, `budget` and `prices` are no part of a run's identity: more of them continue the same run.
    """

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
    idea_models: tuple[str, ...] = ()
    """Models asked for ideas in place of `models`; a string may end in a weight, as in `openai/gpt-5.6=2`."""
    code_models: tuple[str, ...] = ()
    """Models asked for kernels in place of `models`."""
    budget: Budget = field(default_factory=Budget)
    prices: tuple[Price, ...] = ()
    """What models cost whose price is given, in place of any that is known otherwise."""

    def __post_init__(self) -> None:
        if not self.models and not (self.idea_models and self.code_models):
            raise ValueError("a run needs at least one model for ideas and one for kernels")
        if min(self.ideas, self.implementations, self.beam) < 1 or min(self.rounds, self.repairs) < 0:
            raise ValueError("ideas, implementations and beam start at 1; rounds and repairs at 0")

    @property
    def identity(self) -> str:
        sampling = (self.sampling.temperature, self.sampling.max_tokens, self.sampling.reasoning_effort)
        counts = (self.ideas, self.implementations, self.beam, self.repairs, self.policy, self.deadline_seconds)
        roles = [f"{role} {name}" for role, names in self._roles() for name in names]
        return digest(self.language, *self.models, *counts, *sampling, *roles)

    def _roles(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return (("ideas", self.idea_models), ("code", self.code_models))

    @property
    def named_models(self) -> tuple[str, ...]:
        """Every model string as given, for people: those of one role alone say which."""
        return (*self.models, *(f"{name} ({role})" for role, names in self._roles() for name in names))


class RunState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    """It ended at a limit of its budget; with a larger one it goes on."""


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
    stopped: str = ""
    """Which limit it ended at, where it is STOPPED."""


@dataclass(frozen=True)
class Round:
    """Round `number` of a run and what it started from, chosen once and then kept."""

    run: str
    number: int
    parents: tuple[str, ...]
    decisions: tuple[str, ...] = ()
    """Ids of the decisions that a person had made when it began; later ones are for the rounds after it."""
