"""The graph of a run's kernels and how each came from others: a read-only view."""

from __future__ import annotations

import re
import statistics
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from treesearch.records import Edge, Entry, Evaluation, Idea, Relation

if TYPE_CHECKING:
    import networkx as nx

DESCENT = (Relation.REFINES, Relation.REPAIRS)
"""The relations that make a kernel another's child."""


class Conclusion(StrEnum):
    """What the kernels of an idea say about it."""

    CONFIRMED = "confirmed"
    """One of them is faster than its parent."""
    REFUTED = "refuted"
    """Some work, and none is faster."""
    INCONCLUSIVE = "inconclusive"
    """None works, which may be their fault rather than the idea's, or the parent has no time."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one idea: `best` is its best evaluated kernel, repairs included."""

    best: Entry
    ratio: float | None
    """Parent's time ÷ `best`'s time; None if `best` is not verified or the parent has no time."""
    median: float | None
    """The median of parent's time ÷ kernel's time over those that are verified; None as for `ratio`."""
    attempts: int
    """How many of the idea's kernels have been evaluated."""
    working: int
    """How many of those are verified."""
    repaired: bool = False
    """Whether `best` is a repair, which may have kept less of the idea than the kernel that failed."""
    failed: Entry | None = None
    """The first of them that is not verified."""

    @property
    def idea(self) -> Idea:
        assert self.best.idea is not None
        return self.best.idea

    @property
    def conclusion(self) -> Conclusion:
        """Where `best` was launched in turn with its parent, that decides, else the ratio of their times."""
        if self.ratio is None:
            return Conclusion.INCONCLUSIVE
        gained = (self.ratio if self.best.gain is None else self.best.gain) > 1
        return Conclusion.CONFIRMED if gained else Conclusion.REFUTED


class Standing(StrEnum):
    """How a kernel stands since something was found out after its verdict."""

    SUSPECT = "suspect"
    """It is suspect whatever its verdict said."""
    REOPENED = "re-opened"
    """It came from a kernel that is suspect, and has not been judged since."""
    CLEARED = "cleared"
    """It was suspect, and a person has cleared it."""


@dataclass(frozen=True, kw_only=True)
class Reviewed(Entry):
    """A kernel about which something was found out after its verdict; `evaluation` is what counts since."""

    standing: Standing
    reason: str
    judged: Evaluation
    """The newest stored verdict."""
    judgements: int
    """How many verdicts are stored."""


def standing(entry: Entry) -> Standing | None:
    """How a kernel stands; None where its verdict is all there is to say."""
    return entry.standing if isinstance(entry, Reviewed) else None


class Lineage:
    """Kernels with their evaluations, and the edges between them.

    A kernel descends from at most one other, its parent, which it `refines` or `repairs`; an
    `inspired_by` edge is no descent, and may come from a kernel of another run. A kernel without a parent is a root.
    Raises ValueError if another edge names an unknown kernel, if ids repeat, if a kernel has two parents,
    or if edges form a cycle. Methods that take a kernel's id raise KeyError for one that is unknown.
    """

    def __init__(self, entries: Iterable[Entry], edges: Iterable[Edge] = ()) -> None:
        self._entries: dict[str, Entry] = {}
        for entry in sorted(entries, key=_place):
            if entry.id in self._entries:
                raise ValueError(f"kernel {entry.id} is listed twice")
            self._entries[entry.id] = entry
        self._places = {id: place for place, id in enumerate(self._entries)}
        self._children: dict[str, dict[str, Relation]] = {}
        self._parents: dict[str, Edge] = {}
        self._inspirations: dict[str, list[str]] = {}
        self._outcomes: dict[str, tuple[Outcome, ...]] = {}
        # Descent comes last: between the same two kernels it outranks an inspiration.
        self._edges = sorted(edges, key=lambda edge: edge.relation in DESCENT)
        for edge in self._edges:
            self._connect(edge)
        self._refuse_cycles()

    def _connect(self, edge: Edge) -> None:
        if edge.relation is Relation.INSPIRED_BY:
            self._inspirations.setdefault(edge.child, []).append(edge.parent)
            if edge.parent not in self._entries:
                return
        for end in (edge.parent, edge.child):
            if end not in self._entries:
                raise ValueError(f"the edge {edge.parent} → {edge.child} names an unknown kernel, {end}")
        self._children.setdefault(edge.parent, {})[edge.child] = edge.relation
        if edge.relation not in DESCENT:
            return
        first = self._parents.setdefault(edge.child, edge)
        if first != edge:
            raise ValueError(f"kernel {edge.child} descends twice, from {first.parent} and from {edge.parent}")

    def _refuse_cycles(self) -> None:
        """There is none where every edge runs from an earlier kernel to a later one, as a search makes them."""
        places = self._places
        if all(places[edge.parent] < places[edge.child] for edge in self._edges if edge.parent in places):
            return
        import networkx as nx

        graph = self.graph
        if not nx.is_directed_acyclic_graph(graph):
            raise ValueError("the edges form a cycle: " + " → ".join(node for node, _ in nx.find_cycle(graph)))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All kernels by round, then ordinal."""
        return tuple(self._entries.values())

    def without(self, ids: Collection[str]) -> Lineage:
        """The lineage but for these kernels, which nothing that stays descends from."""
        edges = [edge for edge in self._edges if edge.child not in ids]
        return Lineage([entry for id, entry in self._entries.items() if id not in ids], edges)

    @property
    def graph(self) -> nx.DiGraph[str]:
        """Made anew: nodes are kernel ids with an `entry`, edges run from parent to child with a `relation`."""
        import networkx as nx

        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from((id, {"entry": entry}) for id, entry in self._entries.items())
        for parent, children in self._children.items():
            graph.add_edges_from((parent, child, {"relation": relation}) for child, relation in children.items())
        return graph

    def entry(self, id: str) -> Entry:
        if id not in self._entries:
            raise KeyError(f"no kernel {id} in this lineage of {len(self._entries)}")
        return self._entries[id]

    def standing(self, id: str) -> Standing | None:
        """How a kernel stands; None where its verdict is all there is to say."""
        return standing(self.entry(id))

    # ── by speed ────────────────────────────────────────────────────────────────────────────────

    def verified(self) -> tuple[Entry, ...]:
        """Verified kernels, fastest first; equal times by round, then ordinal."""
        return self._verified

    @cached_property
    def _verified(self) -> tuple[Entry, ...]:
        return tuple(sorted((entry for entry in self.entries if entry.verified), key=_milliseconds))

    def fastest(self) -> Entry | None:
        return next(iter(self.verified()), None)

    # ── by descent ──────────────────────────────────────────────────────────────────────────────

    def parent(self, id: str) -> Entry | None:
        """The kernel that `id` refines or repairs; None for a root."""
        self.entry(id)
        edge = self._parents.get(id)
        return self._entries[edge.parent] if edge else None

    def relation(self, id: str) -> Relation | None:
        """How `id` came from its parent; None for a root."""
        self.entry(id)
        edge = self._parents.get(id)
        return edge.relation if edge else None

    def refined(self, id: str) -> Entry | None:
        """The kernel whose idea `id` implements: what it refines, or what the kernel that it repairs does."""
        for entry in self._ascend(id):
            if (edge := self._parents.get(entry.id)) and edge.relation is Relation.REFINES:
                return self._entries[edge.parent]
        return None

    def children(self, id: str, relations: Sequence[Relation] = DESCENT) -> tuple[Entry, ...]:
        """The kernels that came from `id` by one of `relations`, by round, then ordinal."""
        self.entry(id)
        linked = [child for child, relation in self._children.get(id, {}).items() if relation in relations]
        return tuple(self._entries[child] for child in sorted(linked, key=self._places.__getitem__))

    def inspirations(self, id: str) -> tuple[str, ...]:
        """Ids of the kernels, of this run or another, that `id` was inspired by."""
        self.entry(id)
        return tuple(sorted(self._inspirations.get(id, ())))

    def siblings(self, id: str) -> tuple[Entry, ...]:
        """The other children of `id`'s parent; of a root, the other roots."""
        parent = self.parent(id)
        family = self.children(parent.id) if parent else self.roots()
        return tuple(entry for entry in family if entry.id != id)

    def roots(self) -> tuple[Entry, ...]:
        """The kernels without a parent, by round, then ordinal."""
        return tuple(entry for id, entry in self._entries.items() if id not in self._parents)

    def path(self, id: str) -> tuple[Entry, ...]:
        """From the root down to `id`, both included."""
        return tuple(reversed(tuple(self._ascend(id))))

    def _ascend(self, id: str) -> Iterator[Entry]:
        entry: Entry | None = self.entry(id)
        while entry is not None:
            yield entry
            entry = self.parent(entry.id)

    def root(self, id: str) -> Entry:
        return self.path(id)[0]

    def line(self, id: str) -> str:
        """Id of the first step after round 0 on the way to `id`; of a round-0 kernel, its own.

        Kernels with one line share everything that was decided in that step.
        """
        return next((entry.id for entry in self.path(id) if entry.round > 0), id)

    # ── by idea ─────────────────────────────────────────────────────────────────────────────────

    def bases(self) -> tuple[Entry, ...]:
        """The kernels that others refine, by round, then ordinal."""
        refined = {edge.parent for edge in self._parents.values() if edge.relation is Relation.REFINES}
        return tuple(self._entries[id] for id in sorted(refined, key=self._places.__getitem__))

    def outcomes(self, id: str) -> tuple[Outcome, ...]:
        """What came of each idea about `id` with an evaluated kernel, in the order they were proposed.

        A repair counts as another attempt at the idea of the kernel it repairs.
        """
        base = self.entry(id)
        if id not in self._outcomes:  # every prompt of a round asks for all of them
            self._outcomes[id] = tuple(self._found(base))
        return self._outcomes[id]

    def _found(self, base: Entry) -> Iterator[Outcome]:
        attempts: dict[str, list[Entry]] = {}
        for entry in self._attempts(base.id):
            if entry.proposed and entry.status:
                attempts.setdefault(entry.proposed, []).append(entry)
        yield from (self._outcome(base, entries) for entries in attempts.values())

    def _outcome(self, base: Entry, attempts: list[Entry]) -> Outcome:
        verified = [entry for entry in attempts if entry.verified]
        best = min(verified, key=_milliseconds) if verified else attempts[-1]
        ratios = [base.milliseconds / _milliseconds(entry) for entry in verified] if base.milliseconds else []
        return Outcome(
            best,
            max(ratios, default=None),
            statistics.median(ratios) if ratios else None,
            len(attempts),
            len(verified),
            self.relation(best.id) is Relation.REPAIRS,
            next((entry for entry in attempts if not entry.verified), None),
        )

    def _attempts(self, id: str) -> Iterator[Entry]:
        """Kernels that refine `id`, each followed by its repairs."""
        for child in self.children(id, (Relation.REFINES,)):
            yield child
            yield from self._repairs(child.id)

    def _repairs(self, id: str) -> Iterator[Entry]:
        for child in self.children(id, (Relation.REPAIRS,)):
            yield child
            yield from self._repairs(child.id)


def _milliseconds(entry: Entry) -> float:
    assert entry.milliseconds is not None, "a verified kernel is timed"
    return entry.milliseconds


def _place(entry: Entry) -> tuple[int, tuple[int, ...], str]:
    """Sorts `10.0` after `9.0`, and `3.0r1` after `3.0`."""
    return entry.round, _numbers(entry.ordinal), entry.id


@lru_cache(maxsize=4096)
def _numbers(ordinal: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", ordinal))
