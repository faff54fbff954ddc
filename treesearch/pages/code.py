"""Sources as HTML: highlighted, and compared line by line. Whatever they hold, it comes out as text."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.lexers.special import TextLexer
from pygments.util import ClassNotFound

from treesearch.view import text

LEXERS = {"cuda": "cuda", "cpp": "cpp", "module": "python", "python": "python", "json": "json"}
LONGEST = 200_000
"""Characters that are highlighted; what is longer is shown without colours."""
CONTEXT = 3
"""Lines of a comparison around those that differ."""


@dataclass(frozen=True)
class Line:
    """A line of a comparison. `kind` is `added`, `removed`, `same` or `skipped`; numbers are None where there is no
    such line on that side."""

    kind: str
    before: int | None
    after: int | None
    text: str


def highlighted(source: str, language: str) -> str:
    """HTML of classes alone, of a source in a language of kernels, or in another that Pygments knows by that name."""
    shown = text.visible(source)
    name = LEXERS.get(language, language) if len(shown) <= LONGEST else ""
    return str(highlight(shown, _lexer(name), _formatter()))


@cache
def _formatter() -> HtmlFormatter[str]:
    return HtmlFormatter(nowrap=True)


@cache
def _lexer(name: str) -> TextLexer:
    try:
        return get_lexer_by_name(name, stripnl=False)
    except ClassNotFound:
        return TextLexer(stripnl=False)


def compared(before: str, after: str) -> tuple[Line, ...]:
    """What a parent's source became, with a few lines around each change; empty where nothing differs."""
    old, new = before.splitlines(), after.splitlines()
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    lines: list[Line] = []
    for group in matcher.get_grouped_opcodes(CONTEXT):
        first = group[0]
        if first[1] or lines:
            lines.append(Line("skipped", None, None, f"from line {first[1] + 1}, now line {first[3] + 1}"))
        for opcode in group:
            lines += _lines(old, new, *opcode)
    return tuple(lines)


def _lines(old: list[str], new: list[str], tag: str, i: int, i_end: int, j: int, j_end: int) -> Iterator[Line]:
    if tag == "equal":
        yield from (Line("same", i + n + 1, j + n + 1, line) for n, line in enumerate(old[i:i_end]))
        return
    yield from (Line("removed", n + 1, None, old[n]) for n in range(i, i_end))
    yield from (Line("added", None, n + 1, new[n]) for n in range(j, j_end))
