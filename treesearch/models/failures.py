"""Why an attempt to ask failed, whether another may help, and the sentence for when none is left."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum

from treesearch import answers
from treesearch.errors import ModelError, ModelUnavailable, NothingSaid, PromptTooLong, QuestionRefused, ToolsRefused
from treesearch.records import Answer

LONGEST_REASON = 300


class Kind(StrEnum):
    """What stood in the way. The provider's HTTP status decides where there is one."""

    UNREACHABLE = "unreachable"
    LOST = "connection lost"
    TIMEOUT = "timeout"
    BUSY = "rate limit"
    BROKEN = "server error or malformed response"
    EMPTY = "empty answer"
    CUT_OFF = "answer cut off"
    EXIT = "failed command"
    KEY = "key refused"
    NO_MODEL = "no such model"
    TOO_LONG = "context overflow"
    FILTERED = "content filter"
    REFUSED = "request refused"
    TOOLS = "tools refused"


FINAL = (Kind.KEY, Kind.NO_MODEL, Kind.TOO_LONG, Kind.FILTERED, Kind.REFUSED, Kind.TOOLS)
"""The same request would fail again."""

NO_CONNECTION = ("ConnectionRefusedError", "gaierror", "ConnectError", "ConnectTimeout", "UnsupportedProtocol")
LOST_CONNECTION = ("ConnectionResetError", "BrokenPipeError", "ReadError", "WriteError", "RemoteProtocolError")
"""Errors of sockets and of httpx, by name: httpx is the transport's."""

FILTERS = re.compile(r"content.?(?:policy|filter|management)|usage polic|invalid_prompt|safety system", re.IGNORECASE)
"""How providers say that a filter, not a mistake, stands behind an error of status 400."""

TOOLS = re.compile(r"tool|function.?call", re.IGNORECASE)
"""How endpoints say that they take no tools; their status may be any."""


@dataclass(frozen=True)
class Failure:
    kind: Kind
    reason: str
    """The provider's own words on one line, without prefixes and keys."""
    retry_after: float | None = None
    """Seconds the provider asks to be left alone."""
    said: Answer | None = None
    """What the model said all the same, with its tokens and price."""

    @property
    def final(self) -> bool:
        return self.kind in FINAL

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}" if self.reason else str(self.kind)

    def error(self, message: str) -> ModelError:
        """The exception for when no attempt is left."""
        kinds = {
            Kind.TOO_LONG: PromptTooLong,
            Kind.FILTERED: QuestionRefused,
            Kind.TOOLS: ToolsRefused,
            Kind.EMPTY: NothingSaid,
            Kind.BROKEN: NothingSaid,
        }
        return kinds.get(self.kind, ModelUnavailable)(message)


def examined(answer: Answer, finish_reason: str = "", refusal: str = "") -> Answer | Failure:
    """An answer, unless a filter stopped it, it was cut off, or nothing was said."""
    if finish_reason == "content_filter" or (refusal and not answer.text.strip()):
        return Failure(Kind.FILTERED, one_line(refusal or f"finish_reason {finish_reason}"), said=answer)
    if finish_reason == "length":
        return Failure(Kind.CUT_OFF, "finish_reason length", said=answer)
    if answers.ends_in_code(answer.text):
        return Failure(Kind.CUT_OFF, "its last code block is not closed", said=answer)
    if not answer.text.strip():
        return Failure(Kind.EMPTY, f"finish_reason {finish_reason}" if finish_reason else "", said=answer)
    return answer


def classify(error: BaseException) -> Failure:
    """A failure out of whatever the transport raised."""
    kind = _kind(error)
    named = {Kind.UNREACHABLE: NO_CONNECTION, Kind.LOST: LOST_CONNECTION}.get(kind, ())
    return Failure(kind, one_line(str(_link(error, named) or error)), _retry_after(error))


def with_tools(failure: Failure, *, begun: bool) -> Failure:
    """A failed attempt that offered tools: whether these are what stood in the way.

    Where the conversation has `begun`, a refusal of any other request means its form.
    """
    named = failure.kind in (Kind.REFUSED, Kind.NO_MODEL, Kind.BROKEN) and TOOLS.search(failure.reason)
    return replace(failure, kind=Kind.TOOLS) if named or (begun and failure.kind is Kind.REFUSED) else failure


def _kind(error: BaseException) -> Kind:
    if _link(error, NO_CONNECTION):
        return Kind.UNREACHABLE
    if _link(error, LOST_CONNECTION):
        return Kind.LOST
    if type(error).__name__ == "ContextWindowExceededError":
        return Kind.TOO_LONG
    if isinstance(error, TimeoutError):
        return Kind.TIMEOUT
    kind = _kind_of_status(getattr(error, "status_code", None))
    return Kind.FILTERED if kind is Kind.REFUSED and FILTERS.search(str(error)) else kind


def _kind_of_status(status: object) -> Kind:
    named = {
        401: Kind.KEY,
        403: Kind.KEY,
        404: Kind.NO_MODEL,
        408: Kind.TIMEOUT,
        409: Kind.BROKEN,
        413: Kind.TOO_LONG,
        429: Kind.BUSY,
    }
    if not isinstance(status, int):
        return Kind.BROKEN
    return named.get(status, Kind.REFUSED if 400 <= status < 500 else Kind.BROKEN)


def _link(error: BaseException, named: Collection[str]) -> BaseException | None:
    """The first error of these names among the causes: providers wrap those of the socket as a server error."""
    return next((link for link in _chain(error) if type(link).__name__ in named), None)


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def _retry_after(error: BaseException) -> float | None:
    headers = getattr(error, "litellm_response_headers", None)
    value = headers.get("retry-after") if isinstance(headers, Mapping) else None
    return retry_after(str(value), datetime.now(UTC)) if value else None


def retry_after(value: str, now: datetime) -> float | None:
    """Seconds from a Retry-After header, which holds either those or a date (RFC 9110, 10.2.3); None for neither."""
    if re.fullmatch(r"\s*\d+(?:\.\d*)?\s*", value):
        return float(value)
    try:
        then = parsedate_to_datetime(value)
    except ValueError:
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return max((then - now).total_seconds(), 0.0)


def one_line(text: str) -> str:
    """An error's text without line breaks, litellm's prefixes and the values of keys, bounded in length."""
    line = " ".join(_without_keys(text).split())
    line = re.sub(r"^(?:(?:litellm\.)?\w*(?:Error|Timeout|Exception)\b(?: -|:)?\s*)+", "", line) or line
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "…"


def _without_keys(text: str) -> str:
    for name, value in os.environ.items():
        if name.endswith(("_KEY", "_TOKEN")) and len(value) >= 6:
            text = text.replace(value, "…")
    return text


@dataclass(frozen=True)
class Asked:
    """Whom we asked, for the sentence of a failure."""

    model: str
    provider: str
    keys: str
    """Names of the variables that hold the key, such as `GEMINI_API_KEY or GOOGLE_API_KEY`."""
    endpoint: str
    attempts: int


def sentence(failure: Failure, asked: Asked) -> str:
    """What is wrong and what to do about it."""
    why = f" ({failure.reason})" if failure.reason else ""
    tried = f"after {asked.attempts} attempts" if asked.attempts > 1 else "after one attempt"
    match failure.kind:
        case Kind.UNREACHABLE:
            return (
                f"cannot reach {asked.endpoint} for {asked.model}{why} {tried}; "
                "check the network and the endpoint's address, and the same command goes on"
            )
        case Kind.KEY:
            return f"{asked.provider} refuses the key for {asked.model}{why}; put a valid key in {asked.keys}"
        case Kind.NO_MODEL:
            return (
                f"{asked.provider} has no model {asked.model}{why}; check the model's name and the endpoint's address"
            )
        case Kind.TOO_LONG:
            return f"the prompt is longer than {asked.model} accepts{why}; choose a model with a larger context"
        case Kind.FILTERED:
            return f"{asked.model} will not answer this question{why}; others may be answered"
        case Kind.REFUSED:
            return f"{asked.model} refuses the request{why}; check the model's name, the sampling and the account"
        case _:
            return f"{asked.model} gave no answer {tried}, at last: {failure}; the same command goes on later"
