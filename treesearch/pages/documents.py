"""Every kind of page, from what it says to HTML."""

from __future__ import annotations

import math
from functools import lru_cache

from treesearch.errors import UsageError
from treesearch.pages import assets, charts, kernels, runs
from treesearch.pages.comparing import Comparison
from treesearch.pages.front import ProblemRow
from treesearch.pages.links import Served
from treesearch.pages.render import render
from treesearch.pages.study import KEPT, Study
from treesearch.records import Kernel
from treesearch.view.progressions import Axis

LINKS = Served()
NEWEST = 5
"""Runs of a problem that the first page lists."""
PART = 1000
"""Kernels in one part of all of them."""
MOST = 200
"""Kernels, and ideas, that a run's page lists; browsers take long to lay out more."""


def front(problems: tuple[ProblemRow, ...]) -> str:
    return _served("front.html.j2", problems=problems, newest=NEWEST)


def problem(found: ProblemRow) -> str:
    return _served("problem.html.j2", problem=found)


@lru_cache(maxsize=KEPT)
def run(study: Study) -> str:
    page = _page(study)
    return _served("run.html.j2", page=page, data=charts.run(page, LINKS), most=MOST)


def everything(study: Study, part: int = 1) -> str:
    """All kernels of a run in parts of PART, the first of which is 1, and all of its ideas.

    Raises UsageError where there is no such part.
    """
    page = _page(study)
    parts = max(math.ceil(len(page.rows) / PART), 1)
    if not 1 <= part <= parts:
        raise UsageError(f"The kernels of run {study.run.id} have {parts} parts.")
    rows = page.rows[(part - 1) * PART : part * PART]
    return _served("everything.html.j2", page=page, rows=rows, part=part, parts=parts)


@lru_cache(maxsize=KEPT)
def _page(study: Study) -> runs.RunPage:
    return runs.page(study)


def kernel(study: Study, found: Kernel) -> str:
    return _served("kernel.html.j2", page=kernels.page(study, found))


def compare(found: Comparison) -> str:
    return _served("compare.html.j2", page=found, axes=tuple(Axis), data=charts.comparison(found))


def error(message: str) -> str:
    return _served("error.html.j2", message=message)


def _served(template: str, **values: object) -> str:
    return render(template, links=LINKS, assets=assets.linked(), policy="", **values)
