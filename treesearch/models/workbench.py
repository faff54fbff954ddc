"""The tool of a model that can call functions: it may build what it writes before it answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from treesearch.errors import PromptTooLong, ToolsRefused
from treesearch.records import Answer, Request, ToolCall, Turn

MOST_BUILDS = 4
"""Of one question; as many messages at most may hold calls."""
TOOL = "build"
HELP = f"{TOOL} tool"

OFFER: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": TOOL,
        "description": "Compiles a complete source file and returns what the compiler and the disassembler say of it.",
        "parameters": {
            "type": "object",
            "properties": {"source": {"type": "string", "description": "The file, from its first line to its last."}},
            "required": ["source"],
        },
    },
}
"""The tool in OpenAI's form, in which litellm takes tools for every provider."""

NO_SOURCE = "Nothing was built: the arguments are no JSON object with the file as a text `source`."
NONE_LEFT = "Nothing was built: no build is left. Give your answer now."
LAST = "That was the last build. Give your answer now."


@dataclass(frozen=True)
class Workbench:
    """What a model has at hand while it answers one question. Whoever asks decides what that does and may cost."""

    put: Callable[[Request], Request]
    """The question with a prompt that says that the tool is there."""
    build: Callable[[str], str]
    """From a source to a bounded text: what the compiler and the disassembler say of it."""
    has_room: Callable[[Sequence[Turn]], bool]
    """Whether the budget has room, after these turns, for one more call than the next."""
    said: Callable[[str], Sequence[Turn]]
    """The turns of a model, by its name, that are stored already."""
    keep: Callable[[Turn], None]
    """Stores a turn."""


Call = Callable[[Sequence[Turn], bool], Answer | Turn]
"""What a model says after some turns, and whether the tool is offered once more."""


def converse(model: str, workbench: Workbench, call: Call) -> Answer:
    """The answer at the end of a conversation, which goes on from the turns that are stored.

    Turns that do not fit into the model's context any more are forgotten, the oldest first. Raises ToolsRefused where
    the model goes on calling a tool that is not offered any more, and whatever `call` raises.
    """
    turns, forgotten = list(workbench.said(model)), 0
    while True:
        offered = _has_builds_left(turns) and workbench.has_room(turns)
        try:
            said = call(turns[forgotten:], offered)
        except PromptTooLong:
            if forgotten == len(turns):
                raise
            forgotten += 1
            continue
        if isinstance(said, Answer):
            return replace(said, help=help_used(turns))
        brought = reports(said.calls, turns, workbench.build) if offered else (NONE_LEFT,) * len(said.calls)
        turns.append(replace(said, number=len(turns), reports=brought))
        workbench.keep(turns[-1])
        if not offered:
            raise ToolsRefused(f"{model} calls tools that are not offered")


def _has_builds_left(turns: Sequence[Turn]) -> bool:
    return len(turns) < MOST_BUILDS and builds(turns) < MOST_BUILDS


def builds(turns: Sequence[Turn]) -> int:
    """How many sources were built in these turns."""
    return min(MOST_BUILDS, sum(source_of(call) is not None for turn in turns for call in turn.calls))


def help_used(turns: Sequence[Turn]) -> str:
    """What an answer had at hand: `build tool, 2 builds`."""
    count = builds(turns)
    return f"{HELP}, {count or 'no'} build{'' if count == 1 else 's'}"


def reports(calls: Sequence[ToolCall], before: Sequence[Turn], build: Callable[[str], str]) -> tuple[str, ...]:
    """What each call of a message brings, as long as builds are left after the turns `before`."""
    left, found = MOST_BUILDS - builds(before), list[str]()
    for call in calls:
        source = source_of(call)
        found.append(build(source) if source is not None and left > 0 else _objection(call, left))
        left -= source is not None
    if left <= 0 or len(before) + 1 >= MOST_BUILDS:
        found[-1] = f"{found[-1]}\n\n{LAST}"
    return tuple(found)


def _objection(call: ToolCall, left: int) -> str:
    if call.tool != TOOL:
        return f"Nothing was done: there is no tool {call.tool!r}, only `{TOOL}`."
    return NONE_LEFT if left <= 0 else NO_SOURCE


def source_of(call: ToolCall) -> str | None:
    """The source that is to be built, None where the call is not one that can be followed."""
    source = _arguments(call.arguments).get("source")
    return writable(source) if call.tool == TOOL and isinstance(source, str) else None


def writable(text: str) -> str:
    """A text without lone surrogates, which JSON can hold and UTF-8 cannot."""
    return text.encode(errors="replace").decode()


def messages(prompt: str, turns: Sequence[Turn]) -> list[dict[str, Any]]:
    """A conversation in OpenAI's form, from the prompt to the last report."""
    found: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    for turn in turns:
        found.append(_sound(json.loads(turn.message)))
        for call, report in zip(turn.calls, turn.reports, strict=True):
            found.append({"role": "tool", "tool_call_id": call.id, "name": call.tool, "content": report})
    return found


def _sound(message: dict[str, Any]) -> dict[str, Any]:
    """A message whose arguments are JSON objects, since nobody takes others back, and whose reasoning is where
    OpenRouter gave it: litellm puts it aside and does not put it back, and Gemini refuses a conversation without."""
    for call in message["tool_calls"]:
        call["function"]["arguments"] = json.dumps(_arguments(call["function"].get("arguments", "")))
    details = message.get("provider_specific_fields", {}).get("reasoning_details")
    return message | {"reasoning_details": details} if details else message


def _arguments(given: str) -> dict[str, Any]:
    try:
        found = json.loads(given)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
