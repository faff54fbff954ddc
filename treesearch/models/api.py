"""Models behind an API. litellm is the transport and nothing else: retries, timeouts and prices are ours."""

from __future__ import annotations

import difflib
import logging
import os
import random
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from types import ModuleType
from typing import Any, TypeVar

from treesearch.errors import ModelUnavailable, UnknownModel
from treesearch.models.base import ModelOptions, OnFailure
from treesearch.models.failures import Asked, Failure, Kind, classify, one_line, sentence
from treesearch.models.providers import PROVIDERS, provider_named
from treesearch.records import Answer, Request, Sampling, Usage

LONGEST_PAUSE = 60.0
OURS = ("file", "replay")
"""Prefixes that never reach litellm, offered as corrections all the same."""
HOW_TO_NAME = f"name a model as provider/model, such as {PROVIDERS[0].model}, or as file/DIR or replay/ARCHIVE"

T = TypeVar("T")


class ApiModel:
    """A model named by a litellm string.

    `ask` makes up to `options.attempts` calls. Rate limits, timeouts, server errors, lost connections and
    empty or malformed responses are tried again; what would fail again is not. Every failed attempt is told
    to `on_failure`, the last one too.
    """

    def __init__(
        self,
        name: str,
        *,
        sampling: Sampling | None = None,
        options: ModelOptions | None = None,
        on_failure: OnFailure | None = None,
    ) -> None:
        """Raises UnknownModel where no provider answers to `name`; touches no network."""
        self.name = name
        self.sampling = sampling or Sampling()
        self.options = options or ModelOptions()
        self.on_failure = on_failure
        self.provider, self._default_base = _provider(name)

    def check(self) -> None:
        """Raises ModelUnavailable where the provider's key is missing; touches no network."""
        missing = self._missing_keys()
        if missing:
            raise ModelUnavailable(
                f"{self.name} needs a key of {self.provider}; set {missing} (any text where the endpoint needs none)"
            )

    def ask(self, request: Request) -> Answer:
        """The answer, also where it was cut off by `max_tokens`. Raises ModelUnavailable."""
        self.check()
        failed = 0
        while isinstance(outcome := self._attempt(request.prompt), Failure):
            failed += 1
            self._report(request, outcome)
            if outcome.final or failed == self.options.attempts:
                raise ModelUnavailable(sentence(outcome, self._asked(failed)))
            time.sleep(self._pause(failed, outcome))
        return outcome

    def _attempt(self, prompt: str) -> Answer | Failure:
        started = time.monotonic()
        try:
            response = within(self.options.timeout_seconds, lambda: self._call(prompt))
            return self._answer(response, time.monotonic() - started)
        # The transport raises its own errors, its clients' and bare KeyErrors alike; each becomes a Failure.
        except Exception as error:
            return classify(error)

    def _call(self, prompt: str) -> Any:
        return _litellm().completion(
            model=self.name,
            messages=[{"role": "user", "content": prompt}],
            timeout=self.options.timeout_seconds,
            num_retries=0,
            max_retries=0,
            api_base=self.options.api_base,
            **self._parameters(),
        )

    def _parameters(self) -> dict[str, Any]:
        sampling = self.sampling
        wanted = {
            "temperature": sampling.temperature,
            "max_tokens": sampling.max_tokens,
            "reasoning_effort": sampling.reasoning_effort,
        }
        parameters: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
        # litellm refuses an effort for models that do not declare it; the endpoint is the one to judge that.
        if sampling.reasoning_effort is not None and not self._declares("reasoning_effort"):
            parameters["allowed_openai_params"] = ["reasoning_effort"]
        return parameters

    def _declares(self, parameter: str) -> bool:
        return parameter in (_litellm().get_supported_openai_params(self.name) or ())

    def _answer(self, response: Any, seconds: float) -> Answer | Failure:
        if not response.choices:
            return Failure(Kind.BROKEN, "the response holds no choices")
        choice = response.choices[0]
        text = choice.message.content or ""
        # A model that spent all its tokens on reasoning would do so again, at the same price.
        if not text.strip() and choice.finish_reason != "length":
            return Failure(Kind.EMPTY, f"finish_reason {choice.finish_reason}")
        return Answer(
            text=text,
            model=self.name,
            answered_by=response.model or "",
            sampling=self.sampling,
            usage=_usage(response),
            seconds=seconds,
        )

    def _report(self, request: Request, failure: Failure) -> None:
        if self.on_failure:
            self.on_failure(request, str(failure))

    def _pause(self, attempt: int, failure: Failure) -> float:
        """Seconds until the next attempt: exponential, half of it random so that parallel asks spread out."""
        longest = min(self.options.backoff_seconds * 2.0 ** (attempt - 1), LONGEST_PAUSE)
        return max(longest * random.uniform(0.5, 1.0), failure.retry_after or 0.0)

    def _missing_keys(self) -> str:
        """Names of variables of which one must be set, or nothing where a key is there or none is needed."""
        known = provider_named(self.provider)
        if known:
            return "" if known.has_key(os.environ) else " or ".join(known.keys)
        missing = _litellm().validate_environment(self.name)["missing_keys"]
        # Only keys: addresses have defaults, and cloud credentials also come from files and metadata services.
        return " or ".join(name for name in missing if name.endswith("_API_KEY"))

    def _asked(self, attempts: int) -> Asked:
        known = provider_named(self.provider)
        keys = " or ".join(known.keys) if known else f"the variable that litellm documents for {self.provider}"
        return Asked(self.name, self.provider, keys, self._endpoint(), attempts)

    def _endpoint(self) -> str:
        prefix = self.provider.upper()
        from_environment = os.environ.get(f"{prefix}_API_BASE") or os.environ.get(f"{prefix}_BASE_URL")
        return self.options.api_base or from_environment or self._default_base or self.provider


def within(seconds: float, work: Callable[[], T]) -> T:
    """The result of `work`, or TimeoutError after `seconds` by the wall clock.

    Providers may ignore their timeout, and one byte a minute resets a socket's. Python cannot stop a thread, so
    a call that is late goes on in a daemon thread, its result unread, and does not keep the process alive.
    """
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        # Whatever the work raises belongs to the thread that asked for it.
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True, name="treesearch-ask").start()
    try:
        return outcome.result(timeout=seconds)
    except TimeoutError as error:
        raise TimeoutError(str(error) or f"no answer within {seconds:g} s") from None


def _usage(response: Any) -> Usage:
    """Tokens and price. litellm writes 0 for what it was not told, and no prompt has 0 tokens."""
    usage = getattr(response, "usage", None)
    read = getattr(usage, "prompt_tokens", None) or None
    if read is None:
        return Usage()
    return Usage(read, getattr(usage, "completion_tokens", None), _cost(response))


def _cost(response: Any) -> float | None:
    """US dollars, None where litellm has no price; it prices some models it lacks at 0, which says as much."""
    cost = response._hidden_params.get("response_cost")
    return float(cost) if cost else None


def _provider(name: str) -> tuple[str, str | None]:
    """The provider behind a model string and the address it has by default, if any."""
    litellm = _litellm()
    prefix, slash, rest = name.partition("/")
    if not name.strip() or (slash and not rest.strip()):
        raise UnknownModel(f"{name!r} is not the name of a model; {HOW_TO_NAME}")
    try:
        _, provider, _, base = litellm.get_llm_provider(name)
    except litellm.exceptions.BadRequestError:
        raise UnknownModel(_no_provider(litellm, name, prefix if slash else "")) from None
    except Exception as error:  # its lookups fail in other ways too, on names of odd shape
        raise UnknownModel(f"{name!r} is not the name of a model ({one_line(str(error))}); {HOW_TO_NAME}") from None
    return provider, base


def _no_provider(litellm: ModuleType, name: str, prefix: str) -> str:
    providers = [str(getattr(provider, "value", provider)) for provider in litellm.provider_list]
    known = [*OURS, *providers] if prefix else list(litellm.model_cost)
    close = difflib.get_close_matches(prefix or name, known, n=3)
    subject = f"no provider is called {prefix!r}" if prefix else f"no provider is known for a model {name!r}"
    hint = f" (close: {', '.join(close)})" if close else ""
    return f"{subject}{hint}; {HOW_TO_NAME}"


_loading = threading.Lock()


def _litellm() -> ModuleType:
    """litellm, imported on first use (2 s), without network access, .env files, banners or log lines."""
    with _loading:
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
        # Its clients' warnings concern their authors. Each time anew: a test runner resets the filters.
        warnings.filterwarnings("ignore", module=r"(litellm|pydantic|openai|httpx|aiohttp)(\.|$)")
        import litellm

        litellm.suppress_debug_info = True
        if "LITELLM_LOG" not in os.environ:
            logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
        return litellm
