"""Questions to models, and their answers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import TypeVar

from treesearch.records.digest import digest

N = TypeVar("N", int, float)


class Stage(StrEnum):
    IDEAS = "ideas"
    KERNEL = "kernel"
    REPAIR = "repair"


@dataclass(frozen=True)
class Request:
    """One question to one model. Its id is a pure function of its place in the run.

    `problem` and `parent` are digests (of the problem's source; of the parent kernel's source, empty in
    round 0). `ordinal` tells apart the requests of one stage about one parent.
    """

    run: str
    round: int
    stage: Stage
    problem: str
    parent: str
    ordinal: str
    prompt: str
    templates: str = ""
    """Digest of the templates that `prompt` was made from; empty where that was not stored yet."""

    @property
    def id(self) -> str:
        return digest(self.run, self.round, self.stage, self.parent, self.ordinal)[:12]


@dataclass(frozen=True)
class Sampling:
    """Parameters sent with a request; None leaves the provider's default."""

    temperature: float | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None


@dataclass(frozen=True)
class Usage:
    """Tokens and money of one answer; None where the provider does not say. Unknown is never zero."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            both(self.input_tokens, other.input_tokens),
            both(self.output_tokens, other.output_tokens),
            both(self.cost_usd, other.cost_usd),
        )


def both(one: N | None, other: N | None) -> N | None:
    """Their sum, None where one of them is not known."""
    return None if one is None or other is None else one + other


@dataclass(frozen=True)
class ToolCall:
    """What a model asked of a tool; `arguments` are as it wrote them, JSON if it did so well."""

    id: str
    tool: str
    arguments: str


@dataclass(frozen=True)
class Turn:
    """What a model said in place of an answer: calls of tools, and what they told it."""

    model: str
    """The model string that was asked."""
    number: int
    """Place in the conversation, from 0."""
    message: str
    """The model's message as it came, JSON in OpenAI's form: some want their own reasoning back with it."""
    reports: tuple[str, ...] = ()
    """What each call brought, in the order of the calls."""
    usage: Usage = field(default_factory=Usage)
    seconds: float | None = None

    @property
    def text(self) -> str:
        """What it said beside the calls."""
        return json.loads(self.message).get("content") or ""

    @cached_property
    def calls(self) -> tuple[ToolCall, ...]:
        given = [(one.get("id"), one["function"]) for one in json.loads(self.message)["tool_calls"]]
        return tuple(
            ToolCall(id or "", function.get("name") or "", function.get("arguments") or "") for id, function in given
        )


@dataclass(frozen=True)
class Answer:
    """A model's answer, exactly as given."""

    text: str
    model: str
    """The model string that was asked, such as `openai/o3` or `file/answers`."""
    answered_by: str = ""
    """Who really answered, where that is another name (behind `file/`, or a dated snapshot)."""
    help: str = ""
    """What the answerer had at hand, such as `g++, objdump`; empty when it answered from the prompt alone."""
    sampling: Sampling = field(default_factory=Sampling)
    usage: Usage = field(default_factory=Usage)
    """That of the turns before it included."""
    seconds: float | None = None
    """Of all calls, those before it included."""
    failure: str = ""
    """Why there is no answer and never will be, such as a content filter; then `text` is empty."""
    created: str = ""
    """ISO 8601, UTC; empty until stored."""

    def after(self, turn: Turn) -> Answer:
        """The answer with what a turn before it took."""
        return replace(self, usage=self.usage + turn.usage, seconds=both(self.seconds, turn.seconds))
