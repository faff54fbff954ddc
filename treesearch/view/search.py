"""Where a text was found, with the line around it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from treesearch.archive import Hit
from treesearch.view import text
from treesearch.view.data import Json

BEFORE = 40
"""Characters of a long line that are shown before what was found."""
LONGEST = 160


def listed(found: Sequence[Hit], wanted: str, *, more: bool) -> RenderableType:
    """Two lines a hit: where it is, and the line that holds it."""
    lines = [line for hit in found for line in (_place(hit, wanted), _quoted(hit, wanted))]
    return Group(*lines, *([Text("there are more; --limit shows them", style="dim")] if more else []))


def _place(hit: Hit, wanted: str) -> Text:
    number, _ = line_of(hit.text, wanted)
    where = f", line {number}" if hit.where != "idea" else ""
    about = f"{text.one_line(hit.run.problem_name, 60)}, run {hit.run.id}, round {hit.round}{where}"
    return Text.assemble((f"{hit.where:6} ", "cyan"), (hit.id, "bold"), (f"  {about}", "dim"))


def _quoted(hit: Hit, wanted: str) -> Text:
    line = Text(f"       {line_of(hit.text, wanted)[1]}", no_wrap=True, overflow="ellipsis")
    line.highlight_regex(_sought(wanted), "bold yellow")
    return line


def line_of(whole: str, wanted: str) -> tuple[int, str]:
    """The first line that holds what was looked for: its number, from 1, and its text, cut and fit for a terminal."""
    found = _sought(wanted).search(whole)
    place = found.start() if found else 0
    start = whole.rfind("\n", 0, place) + 1
    line = whole[start:].split("\n", 1)[0]
    cut = place - start - BEFORE if place - start > LONGEST - BEFORE else 0
    return whole.count("\n", 0, place) + 1, ("…" if cut else "") + text.one_line(line[cut:], LONGEST)


def _sought(wanted: str) -> re.Pattern[str]:
    return re.compile(re.escape(wanted), re.IGNORECASE)


def as_json(found: Sequence[Hit], wanted: str, *, more: bool) -> Json:
    """`number` is the line's, from 1, in the code or the answer; of an idea, line 1 is its title."""
    return {"wanted": wanted, "more": more, "hits": [_json(hit, wanted) for hit in found]}


def _json(hit: Hit, wanted: str) -> Json:
    number, line = line_of(hit.text, wanted)
    return {
        "where": str(hit.where),
        "id": hit.id,
        "run": hit.run.id,
        "problem": hit.run.problem_name,
        "round": hit.round,
        "number": number,
        "line": line,
    }
