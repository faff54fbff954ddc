"""Every kind of page, from what it says to HTML."""

from __future__ import annotations

from functools import lru_cache

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
MOST = 500
"""Kernels, and ideas, that a run's page lists; browsers take long to lay out more."""


def front(problems: tuple[ProblemRow, ...]) -> str:
    return _served("front.html.j2", problems=problems, newest=NEWEST)


def problem(found: ProblemRow) -> str:
    return _served("problem.html.j2", problem=found)


@lru_cache(maxsize=KEPT)
def run(study: Study) -> str:
    page = runs.page(study)
    return _served("run.html.j2", page=page, data=charts.run(page, LINKS.kernel), most=MOST)


def everything(study: Study) -> str:
    """All kernels and ideas of a run, however many."""
    return _served("everything.html.j2", page=runs.page(study))


def kernel(study: Study, found: Kernel) -> str:
    return _served("kernel.html.j2", page=kernels.page(study, found))


def compare(found: Comparison) -> str:
    return _served("compare.html.j2", page=found, axes=tuple(Axis), data=charts.comparison(found))


def error(message: str) -> str:
    return _served("error.html.j2", message=message)


def _served(template: str, **values: object) -> str:
    return render(template, links=LINKS, assets=assets.linked(), policy="", **values)
