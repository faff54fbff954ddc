"""Why an attempt to ask failed, whether another may help, and the sentence for when none is left."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

LONGEST_REASON = 300
LONGEST_RETRY_AFTER = 60.0


class Kind(StrEnum):
    """What stood in the way. The provider's HTTP status decides where there is one."""

    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    BUSY = "rate limit"
    BROKEN = "server error or malformed response"
    EMPTY = "empty answer"
    KEY = "key refused"
    NO_MODEL = "no such model"
    TOO_LONG = "context overflow"
    REFUSED = "request refused"


FINAL = (Kind.KEY, Kind.NO_MODEL, Kind.TOO_LONG, Kind.REFUSED)
"""The same request would fail again."""


@dataclass(frozen=True)
class Failure:
    kind: Kind
    reason: str
    """The provider's own words on one line, without prefixes and keys."""
    retry_after: float | None = None
    """Seconds the provider asks to be left alone, at most a minute."""

    @property
    def final(self) -> bool:
        return self.kind in FINAL

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}" if self.reason else str(self.kind)


def classify(error: BaseException) -> Failure:
    """A failure out of whatever the transport raised."""
    kind = _kind(error)
    cause = _connection_cause(error) if kind is Kind.UNREACHABLE else error
    return Failure(kind, one_line(str(cause)), _retry_after(error))


def _kind(error: BaseException) -> Kind:
    if _connection_cause(error):
        return Kind.UNREACHABLE
    if type(error).__name__ == "ContextWindowExceededError":
        return Kind.TOO_LONG
    if isinstance(error, TimeoutError):
        return Kind.TIMEOUT
    return _kind_of_status(getattr(error, "status_code", None))


def _kind_of_status(status: object) -> Kind:
    named = {408: Kind.TIMEOUT, 429: Kind.BUSY, 401: Kind.KEY, 403: Kind.KEY, 404: Kind.NO_MODEL, 409: Kind.BROKEN}
    if not isinstance(status, int):
        return Kind.BROKEN
    return named.get(status, Kind.REFUSED if 400 <= status < 500 else Kind.BROKEN)


def _connection_cause(error: BaseException) -> BaseException | None:
    """The error of the socket layer, where no connection came about; providers wrap it as a server error."""
    for link in _chain(error):
        if isinstance(link, ConnectionRefusedError | socket.gaierror):
            return link
        if type(link).__name__ in ("ConnectError", "ConnectTimeout", "UnsupportedProtocol"):
            return link
    return None


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
    try:
        seconds = float(value) if value else None
    except ValueError:  # the header may hold a date instead: our own pause will do
        return None
    return None if seconds is None else min(seconds, LONGEST_RETRY_AFTER)


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
        case Kind.REFUSED:
            return f"{asked.model} refuses the request{why}; check the model's name, the sampling and the account"
        case _:
            return f"{asked.model} gave no answer {tried}, at last: {failure}; the same command goes on later"
