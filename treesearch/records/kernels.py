"""Ideas, the kernels that implement them, and how they descend from each other."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from treesearch.records.digest import digest


class Category(StrEnum):
    """The six recurring kinds of optimization."""

    MEMORY = "memory access"
    ASYNCHRONY = "asynchrony and latency hiding"
    PRECISION = "data type and precision"
    COMPUTE = "compute and instructions"
    PARALLELISM = "parallelism and occupancy"
    CONTROL_FLOW = "control flow and loops"


@dataclass(frozen=True)
class Idea:
    """One atomic optimization hypothesis. `expected_speedup` is a ratio over the parent kernel."""

    title: str
    category: Category
    mechanism: str
    expected_speedup: float
    risk: str
    refutation: str = ""
    """What would show that it is wrong; empty where nobody said."""


@dataclass(frozen=True)
class Proposal:
    """An idea in its place: proposed in a round, about a parent kernel, by an answer."""

    run: str
    round: int
    ordinal: int
    """Place among the round's proposals, from 0."""
    parent: str
    """Id of the parent kernel."""
    answer: str
    """Id of the request whose answer holds the idea."""
    idea: Idea
    dropped: str = ""
    """Why it was not implemented (`near-duplicate of …`); empty for an idea that was kept."""

    @cached_property
    def id(self) -> str:
        return digest("proposal", self.run, self.round, self.ordinal)[:12]


@dataclass(frozen=True)
class Kernel:
    """One attempt at implementing an idea: a slot of a round. `source` is None when an answer held no code."""

    run: str
    round: int
    ordinal: str
    """Place in the round: `proposal.variant`, with `r1` appended for a first repair: `3.0`, `3.0r1`."""
    language: str
    source: str | None
    answer: str
    """Id of the request whose answer holds the code."""
    proposal: Proposal | None = None
    """None in round 0, which implements the problem itself."""

    @cached_property
    def id(self) -> str:
        return digest("kernel", self.run, self.round, self.ordinal)[:12]

    @property
    def idea(self) -> Idea | None:
        return self.proposal.idea if self.proposal else None

    @cached_property
    def digest(self) -> str:
        """Digest of the source text: what a kernel *is*, wherever it came from."""
        return digest(self.source or "")


class Relation(StrEnum):
    REFINES = "refines"
    REPAIRS = "repairs"
    INSPIRED_BY = "inspired_by"


@dataclass(frozen=True)
class Edge:
    """`child` came from `parent` (both kernel ids)."""

    parent: str
    child: str
    relation: Relation
