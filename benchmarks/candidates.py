"""Real candidates as a plain file: kernels of recorded searches, for machines where no archive can be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from benchmarks import sealed
from treesearch.records import Problem


@dataclass(frozen=True)
class Candidate:
    """A kernel's source, and that of the kernel that it was made from; empty for none."""

    source: str
    parent: str


@dataclass(frozen=True)
class Batch:
    """Distinct kernels of one problem in one language, in the order in which a search wrote them."""

    problem: Problem
    language: str
    promoted: int
    """How many of the fastest seeded a round of that search."""
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True)
class Prepared:
    """What the benchmark runs on."""

    batches: tuple[Batch, ...]


def prepare(path: Path, archives: Sequence[str] = ()) -> Prepared:
    """Write down all kernels of the shipped record and of other archives. Needs what reading an archive needs."""
    from treesearch import resources
    from treesearch.archive import Archive

    batches: list[Batch] = []
    for place in (str(resources.record()), *archives):
        with Archive(place, read_only=True) as archive:
            batches += _batches(archive)
    found = Prepared(tuple(batches))
    sealed.write(path, found)
    return found


def read(path: Path) -> Prepared:
    """Raises UsageError for a file that `prepare` has not written."""
    return sealed.read(path, Prepared, "candidates")


def chosen(batches: Iterable[Batch], count: int | None) -> tuple[Batch, ...]:
    """At most so many candidates, taken from the batches in turn; batches of which none is left are left out."""
    held = tuple(batches)
    turns = [
        (number, candidate)
        for row in zip_longest(*(batch.candidates for batch in held))
        for number, candidate in enumerate(row)
        if candidate is not None
    ][:count]
    taken = [tuple(candidate for place, candidate in turns if place == number) for number in range(len(held))]
    return tuple(replace(batch, candidates=some) for batch, some in zip(held, taken, strict=True) if some)


def total(batches: Sequence[Batch]) -> int:
    return sum(len(batch.candidates) for batch in batches)


def _batches(record: object) -> Iterator[Batch]:
    from treesearch.archive import Archive

    assert isinstance(record, Archive)
    for run in record.runs():
        lineage = record.lineage(run.id)
        parents = dict[str, str]()
        for entry in lineage.entries:
            if entry.kernel.source:
                refined = lineage.refined(entry.kernel.id)
                parents.setdefault(entry.kernel.source, (refined.kernel.source if refined else None) or "")
        if not parents:
            continue
        distinct = tuple(Candidate(source, parent) for source, parent in parents.items())
        yield Batch(record.problem(run.problem), run.config.language, run.config.beam, distinct)
