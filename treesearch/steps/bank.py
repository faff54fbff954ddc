"""The bank: verified kernels of other problems, and kernels that a person names, offered as inspiration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from treesearch import resources
from treesearch.archive import Archive
from treesearch.errors import UsageError
from treesearch.feedback import figures
from treesearch.languages import Language
from treesearch.lineage import Lineage
from treesearch.problem.operators import operators
from treesearch.prompts import Inspiration
from treesearch.records import Entry, Problem

OFFERED = 2
"""Kernels of other problems that a prompt quotes, those with most in common first."""
LONGEST = 12_000
"""Characters of a source that is offered unasked; longer ones are passed over."""
LONGEST_ASKED = 40_000
"""Characters quoted of a source that a person named."""
NEWEST_RUNS = 8
"""Runs of a problem that are looked at."""


def inspirations(
    archive: Archive, subject: Problem, language: Language, asked: Sequence[str] = ()
) -> tuple[Inspiration, ...]:
    """Kernels in `language` for prompts about `subject`: those `asked` for by id, then a few of other problems.

    They come from the archive and from the shipped record. Raises UsageError for an id that names no verified kernel
    in this language.
    """
    with Archive(resources.record(), read_only=True) as record:
        stores = (archive, record)
        named = tuple(_named(stores, id, subject, language) for id in asked)
        return named + tuple(_alike(stores, subject, language))


def _named(stores: Iterable[Archive], id: str, subject: Problem, language: Language) -> Inspiration:
    store, kernel, run = _find(stores, id)
    entry = _lineage(store, run).entry(kernel)
    if not entry.verified or entry.kernel.language != language.name:
        raise UsageError(
            f"Kernel {kernel} cannot inspire: name a verified kernel in {language.name}; `treesearch show` lists them."
        )
    problem = store.problem(store.run(run).problem)
    source = figures.excerpt(entry.kernel.source or "", LONGEST_ASKED)
    return Inspiration(problem.name, entry, source, _shared(problem, subject), asked=True)


def _find(stores: Iterable[Archive], id: str) -> tuple[Archive, str, str]:
    """The archive, kernel and run behind the beginning of a kernel's id."""
    reasons = []
    for store in stores:
        try:
            run, kernel = store.kernel(id)
        except UsageError as reason:
            reasons.append(reason)
        else:
            return store, kernel.id, run.id
    raise next((reason for reason in reasons if "more than one" in str(reason)), reasons[0])


def _alike(stores: Sequence[Archive], subject: Problem, language: Language) -> Iterator[Inspiration]:
    """The fastest kernel of each of the problems that have most in common with this one."""
    places = [(store, problem) for store in stores for problem in store.problems() if problem.digest != subject.digest]
    likest = sorted(places, key=lambda place: (-_likeness(place[1], subject), place[1].name))
    seen: set[str] = set()
    for store, problem in likest:
        shared = _shared(problem, subject)
        if not shared or len(seen) == OFFERED:
            return
        best = _fastest(store, problem, language) if problem.digest not in seen else None
        if best is not None:
            seen.add(problem.digest)
            yield Inspiration(problem.name, best, best.kernel.source or "", shared)


def _shared(problem: Problem, subject: Problem) -> tuple[str, ...]:
    return tuple(sorted(operators(problem.source) & operators(subject.source)))


def _likeness(problem: Problem, subject: Problem) -> float:
    """Share of the operators of both that they have in common (Jaccard)."""
    theirs, ours = operators(problem.source), operators(subject.source)
    return len(theirs & ours) / max(len(theirs | ours), 1)


def _fastest(store: Archive, problem: Problem, language: Language) -> Entry | None:
    """Whose source is short enough to be quoted whole."""
    runs = [run for run in store.runs() if run.problem == problem.digest and run.config.language == language.name]
    found = [entry for run in runs[:NEWEST_RUNS] for entry in _lineage(store, run.id).verified()]
    short = [entry for entry in found if len(entry.kernel.source or "") <= LONGEST]
    return min(short, key=lambda entry: entry.milliseconds or 0.0, default=None)


def _lineage(store: Archive, run: str) -> Lineage:
    return store.lineage(run)
