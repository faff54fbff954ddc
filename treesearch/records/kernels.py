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

    @cached_property
    def name(self) -> str:
        """It by its content, not its place: recordings and decisions match on it."""
        return digest(self.title, self.mechanism)[:8]


class Verb(StrEnum):
    """What a person has decided to do with an idea."""

    ADD = "add"
    """Try this idea, which the person had."""
    PIN = "pin"
    """Try this idea, which was proposed before."""
    BAN = "ban"
    """Try it no more, nor build upon what came of it."""


@dataclass(frozen=True)
class Decision:
    """A person's word about an idea of a run. The newest about an idea counts."""

    run: str
    verb: Verb
    idea: Idea
    parent: str = ""
    """Id of the kernel that the idea is about; empty for the first parent of the round that tries it."""
    about: str = ""
    """Id of the proposal, or of the addition, that is pinned or banned; empty for an addition."""
    reason: str = ""
    by: str = "person"
    created: str = ""
    """ISO 8601, UTC; empty until stored."""

    @cached_property
    def id(self) -> str:
        return digest("decision", self.run, self.verb, self.idea.name, self.parent, self.about, self.created)[:12]


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
    """Id of the request whose answer holds the idea; empty where a person decided that it be tried."""
    idea: Idea
    dropped: str = ""
    """Why it was not implemented (`near-duplicate of …`); empty for an idea that was kept."""
    decision: str = ""
    """Id of the person's decision that it be tried; empty where an answer holds it."""
    decisions: tuple[Decision, ...] = ()
    """What a person has decided about this idea up to now, oldest first: worked out when it is read."""

    @cached_property
    def id(self) -> str:
        return digest("proposal", self.run, self.round, self.ordinal)[:12]

    @property
    def verbs(self) -> tuple[Verb, ...]:
        """What a person has done with it, each once: added it here, pinned it, banned it for as long as that holds."""
        return tuple(dict.fromkeys(one.verb for one in self.decisions if self._tells(one)))

    def _tells(self, decision: Decision) -> bool:
        if decision.verb is Verb.ADD:
            return decision.id == self.decision
        return decision.verb is Verb.PIN or decision is self.decisions[-1]

    @property
    def banned(self) -> bool:
        return Verb.BAN in self.verbs


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


@dataclass(frozen=True, slots=True)
class Edge:
    """`child` came from `parent` (both kernel ids)."""

    parent: str
    child: str
    relation: Relation
