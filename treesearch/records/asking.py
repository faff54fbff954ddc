"""Questions to models, and their answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from treesearch.records.digest import digest


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
    seconds: float | None = None
    failure: str = ""
    """Why there is no answer and never will be, such as a content filter; then `text` is empty."""
    created: str = ""
    """ISO 8601, UTC; empty until stored."""
