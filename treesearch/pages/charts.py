"""What the scripts draw, as JSON within a page. Times are in milliseconds; what is not known is null."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from treesearch.pages.comparing import Comparison
from treesearch.pages.runs import Row, RunPage
from treesearch.view import text
from treesearch.view.progressions import Progression

Json = dict[str, Any]


def run(page: RunPage, href: Callable[[str], str]) -> Json:
    """Speed and lineage of a run; `href` is where a kernel's own page is, by its id."""
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
        "kernels": [_kernel(page, row, href(row.id)) for row in page.rows],
        "winning_line": [step.row.id for step in page.steps],
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


def _kernel(page: RunPage, row: Row, href: str) -> Json:
    kernel, relation = row.entry.kernel, page.study.lineage.relation(row.id)
    return {
        "id": row.id,
        "round": kernel.round,
        "ordinal": kernel.ordinal,
        "parent": row.parent or None,
        "relation": str(relation) if relation else None,
        "inspired_by": list(row.inspired_by),
        "status": str(row.entry.evaluation.status) if row.entry.evaluation else None,
        "milliseconds": _figure(row.milliseconds),
        "speedup": _figure(row.speedup),
        "title": row.title,
        "category": str(kernel.idea.category) if kernel.idea else None,
        "href": href,
        "winning": row.winning,
        "step": row.step,
    }


def _figure(value: float | None) -> float | None:
    """Six significant digits: what a chart can show; a ratio that is no number is not known."""
    return float(f"{value:.6g}") if value is not None and math.isfinite(value) else None
