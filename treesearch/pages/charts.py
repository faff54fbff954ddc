"""What the scripts draw, as JSON within a page. Times are in milliseconds; what is not known is null."""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Sequence
from typing import Any

from treesearch.pages.comparing import Comparison
from treesearch.pages.links import Links
from treesearch.pages.runs import Row, RunPage
from treesearch.records import Proposal
from treesearch.view import text
from treesearch.view.progressions import Progression

Json = dict[str, Any]


def run(page: RunPage, links: Links) -> Json:
    """Speed and lineage of a run, of which a page may hold thousands of kernels: what many share is told once.

    `kernels` has a column for each of their members, as long as there are kernels: `parent` is a place among them,
    `status`, `relation` and `idea` are places in the lists of the same names. What few have is told by place: `steps`
    were faster than all before them, `inspired_by` has the ids of others. `pages` is what leads to a kernel's page when
    its id follows, `paged` the places of those that have one, null where all do.
    """
    study = page.study
    return {
        "problem": text.one_line(study.run.problem_name, 80),
        "run": study.run.id,
        "language": study.run.config.language,
        "device": text.one_line(study.device.name, 80),
        "state": str(study.run.state),
        "version": study.version,
        "baselines": _baselines(page),
        "rounds": study.run.config.rounds,
        "winning_line": [step.row.id for step in page.steps],
        "steps": [place for place, row in enumerate(page.rows) if row.step],
        **_kernels(page),
        "pages": links.kernels,
        "paged": _paged(page, links),
    }


def comparison(page: Comparison) -> Json:
    """The best kernel so far of several runs: every line goes on to where its run is."""
    return {"axis": str(page.axis), "unit": page.unit, "runs": [_line(one) for one in page.progressions]}


def _line(one: Progression) -> Json:
    points = [[point.value, point.milliseconds] for point in one.points]
    end = [[one.end, one.points[-1].milliseconds]] if one.end is not None and one.points else []
    label = text.one_line(f"{one.run.id}, {', '.join(one.run.config.named_models)}", 60)
    return {"run": one.run.id, "label": label, "points": [*points, *end]}


def _baselines(page: RunPage) -> Json:
    """Those of the winner's verdict, which its speed-up is over; before there is one, those of all that were timed."""
    measured = [row.measured for row in ([page.winner] if page.winner else page.rows) if row.measured]
    floor = page.study.floor
    return {
        "eager_ms": _median([one.eager.median for one in measured]),
        "compile_ms": _median([one.compile.median for one in measured if one.compile]),
        "floor_ms": floor.milliseconds if floor else None,
    }


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _kernels(page: RunPage) -> Json:
    lineage, entries = page.study.lineage, [row.entry for row in page.rows]
    places = {entry.kernel.id: place for place, entry in enumerate(entries)}
    parents = [lineage.parent(id) for id in places]
    measured = [row.measured for row in page.rows]
    statuses = [str(entry.evaluation.status) if entry.evaluation else None for entry in entries]
    relations = [lineage.relation(id) for id in places]
    proposals = [_place(entry.kernel.proposal) for entry in entries]
    inspired = ((str(place), lineage.inspirations(id)) for id, place in places.items())
    return {
        "statuses": list(dict.fromkeys(statuses)),
        "relations": [relation and str(relation) for relation in dict.fromkeys(relations)],
        "ideas": [_told(row) for row in dict(zip(proposals, page.rows, strict=True)).values()],
        "inspired_by": {place: list(ids) for place, ids in inspired if ids},
        "kernels": {
            "id": list(places),
            "round": [entry.kernel.round for entry in entries],
            "parent": [parent and places[parent.kernel.id] for parent in parents],
            "relation": _numbered(relations),
            "status": _numbered(statuses),
            "milliseconds": [_figure(one.kernel.median if one else None) for one in measured],
            "speedup": [_figure(one.speedup.value if one else None) for one in measured],
            "idea": _numbered(proposals),
        },
    }


def _numbered(values: Sequence[Hashable]) -> list[int]:
    """Of each value, its place among all different ones in the order in which they come."""
    numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return [numbers[value] for value in values]


def _place(proposal: Proposal | None) -> tuple[int, int] | None:
    """Which of the run's proposals it is."""
    return (proposal.round, proposal.ordinal) if proposal else None


def _told(row: Row) -> Json:
    idea = row.entry.kernel.idea
    return {"title": row.title, "category": str(idea.category) if idea else None}


def _paged(page: RunPage, links: Links) -> list[int] | None:
    found = [place for place, row in enumerate(page.rows) if links.has_page(row.id)]
    return None if len(found) == len(page.rows) else found


def _figure(value: float | None) -> float | None:
    """Six significant digits: what a chart can show; a ratio that is no number is not known."""
    return float(f"{value:.6g}") if value is not None and math.isfinite(value) else None
