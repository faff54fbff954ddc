"""What models built before they answered, for people to read."""

from __future__ import annotations

import json

from treesearch.records import Turn
from treesearch.view import turns


def turn(*calls: tuple[str, str], said: str | None = None) -> Turn:
    given = [{"id": "c", "function": {"name": name, "arguments": passed}} for name, passed in calls]
    message = {"role": "assistant", "content": said, "tool_calls": given}
    return Turn("openai/s", 1, json.dumps(message), tuple(f"report {place}" for place in range(len(calls))))


def test_each_source_stands_above_what_was_said_of_it() -> None:
    told = turns.text([turn(("build", json.dumps({"source": "int x;\n```"})), said="Let me see.")])
    assert told == ("## openai/s, message 2\n\nLet me see.\n\n````\nint x;\n```\n````\n\n```text\nreport 0\n```")


def test_a_call_that_was_none_is_shown_as_it_came() -> None:
    told = turns.text([turn(("run", "{}"), ("build", "{"))])
    assert "run({})" in told
    assert "build({)" in told
    assert told.index("report 0") < told.index("build({)") < told.index("report 1")


def test_where_nothing_was_built_that_is_said() -> None:
    assert turns.text([]) == turns.NONE
