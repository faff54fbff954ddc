"""A run as one file: no server, no network, nothing beside it."""

from __future__ import annotations

from collections.abc import Iterator

from treesearch.pages import assets, charts, kernels, runs
from treesearch.pages.kernels import KernelPage
from treesearch.pages.links import Filed
from treesearch.pages.render import render
from treesearch.pages.study import Study
from treesearch.records import Entry

MOST = 300
"""Kernels that a report tells of in detail; the others are in its table and in the archive."""


def report(study: Study) -> str:
    """HTML of a run, opening on its winning line. The kernels of that line come with what was asked and said."""
    detailed = dict.fromkeys(entry.kernel.id for entry in _chosen(study))
    links, parts, page = Filed(frozenset(detailed)), assets.inlined(), runs.page(study)
    return render(
        "report.html.j2",
        page=page,
        data=charts.run(page, links),
        kernels=[_kernel(study, id) for id in detailed],
        most=len(page.rows) + len(page.fates),
        links=links,
        assets=parts,
        policy=parts.policy,
    )


def _chosen(study: Study) -> list[Entry]:
    """The winning line, what was tried beside it, then the fastest and the rest, as far as there is room."""
    ordered = dict.fromkeys(entry.kernel.id for entry in _by_interest(study))
    kept = set(list(ordered)[:MOST])
    line = {entry.kernel.id for entry in study.winning_line}
    rest = [entry for entry in study.lineage.entries if entry.kernel.id in kept - line]
    return [*study.winning_line, *rest]


def _by_interest(study: Study) -> Iterator[Entry]:
    yield from study.winning_line
    for entry in study.winning_line:
        yield from study.lineage.siblings(entry.kernel.id)
    yield from study.lineage.verified()
    yield from study.lineage.entries


def _kernel(study: Study, id: str) -> KernelPage:
    _, kernel = study.archive.kernel(id)
    return kernels.page(study, kernel)
