"""The findings as pictures: SVG files that are the same, byte for byte, for the same archive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from benchmarks.findings import Searched, Tried
from treesearch.lineage import Conclusion
from treesearch.records import Category

WIDTH, HEIGHT = 8.0, 4.5
"""Inches."""
STYLE: dict[Any, object] = {
    "svg.hashsalt": "treesearch",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "legend.frameon": False,
}
COLOURS = dict(zip(Category, ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9"), strict=True))
"""Okabe and Ito's, which colour-blind readers tell apart."""
CONCLUSIONS = {
    Conclusion.CONFIRMED: "#009e73",
    Conclusion.REFUTED: "#d55e00",
    Conclusion.INCONCLUSIVE: "#bbbbbb",
}


def draw(found: Sequence[Searched], folder: Path) -> Iterator[Path]:
    """Write every picture, and say where."""
    folder.mkdir(parents=True, exist_ok=True)
    tried = [one for search in found for one in search.tried]
    with matplotlib.rc_context(STYLE):
        for name, figure in (("rounds", rounds(found)), ("predictions", predictions(tried)), ("kinds", kinds(tried))):
            path = folder / f"{name}.svg"
            figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
            yield path


def rounds(found: Sequence[Searched]) -> Figure:
    """The best speed-up so far of each search, round by round."""
    figure, axes = _empty("Best verified kernel so far", "round", "speed-up over the better of eager and torch.compile")
    for search in found:
        points = [(number, best) for number in search.rounds if (best := search.best_until(number))]
        if points:
            axes.plot(*zip(*points, strict=True), marker="o", drawstyle="steps-post", label=search.name)
    axes.set_yscale("log")
    axes.axhline(1, color="black", linewidth=0.8)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    _plain_ticks(axes)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small")
    return figure


def predictions(tried: Sequence[Tried]) -> Figure:
    """What was expected of each idea that worked, and what its best kernel brought."""
    figure, axes = _empty("Ideas that worked", "expected speed-up over the parent", "what its best kernel brought")
    for category, colour in COLOURS.items():
        mine = [one.outcome for one in tried if one.category is category and one.outcome.ratio]
        if mine:
            expected, measured = [one.idea.expected_speedup for one in mine], [one.ratio or 0.0 for one in mine]
            axes.scatter(expected, measured, s=28, color=colour, alpha=0.8, label=str(category))
    axes.set_xscale("log")
    axes.set_yscale("log")
    low, high = (max(ends) if which else min(ends) for which, ends in enumerate(zip(*_spans(axes), strict=True)))
    axes.plot((low, high), (low, high), color="black", linewidth=0.8)
    _plain_ticks(axes)
    if axes.collections:
        axes.legend(loc="upper left", fontsize="small")
    return figure


def kinds(tried: Sequence[Tried]) -> Figure:
    """What became of the ideas of each category."""
    figure, axes = _empty("What became of ideas", "ideas", "")
    names = [str(category) for category in Category]
    left = [0] * len(names)
    for conclusion, colour in CONCLUSIONS.items():
        counts = [
            sum(one.category is category and one.outcome.conclusion is conclusion for one in tried)
            for category in Category
        ]
        axes.barh(names, counts, left=left, color=colour, label=str(conclusion))
        left = [before + count for before, count in zip(left, counts, strict=True)]
    axes.invert_yaxis()
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(fontsize="small")
    return figure


def _empty(title: str, across: str, up: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    return figure, axes


def _spans(axes: Axes) -> tuple[tuple[float, float], tuple[float, float]]:
    return axes.get_xlim(), axes.get_ylim()


def _plain_ticks(axes: Axes) -> None:
    """Ratios as 1.5 rather than as powers of ten, also between decades."""
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log":
            for which in (axis.set_major_formatter, axis.set_minor_formatter):
                which(FuncFormatter(_plain))


def _plain(value: float, _: int | None) -> str:
    """1, 2 and 5 of each decade; the others would stand in each other's way."""
    return f"{value:g}" if f"{value:e}"[0] in "125" else ""
