"""What models built before they answered, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from treesearch.models.workbench import source_of
from treesearch.prompts import fenced
from treesearch.records import ToolCall, Turn

NONE = "No build came before this answer."


def text(turns: Sequence[Turn]) -> str:
    """Each call with what it brought, and what was said beside it."""
    return "\n\n".join(part for turn in turns for part in _parts(turn)) or NONE


def _parts(turn: Turn) -> Iterator[str]:
    yield f"## {turn.model}, message {turn.number + 1}"
    if turn.text:
        yield turn.text
    for call, report in zip(turn.calls, turn.reports, strict=True):
        yield fenced(passed(call))
        yield fenced(report, "text")


def passed(call: ToolCall) -> str:
    """The source, where that is what a model passed; else the whole call."""
    source = source_of(call)
    return f"{call.tool}({call.arguments})" if source is None else source
