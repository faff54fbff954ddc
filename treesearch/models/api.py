"""Models behind an API. litellm is the transport and nothing else: retries, timeouts and prices are ours."""

from __future__ import annotations

import difflib
import logging
import os
import threading
import time
import warnings
from types import ModuleType
from typing import Any

from treesearch.errors import ModelUnavailable, UnknownModel
from treesearch.models.base import ModelOptions, OnFailure
from treesearch.models.failures import Asked, Failure, Kind, classify, examined, one_line, sentence
from treesearch.models.persistent import Persistent, within
from treesearch.models.providers import PROVIDERS, provider_named
from treesearch.records import Answer, Sampling, Usage

OURS = ("file", "cmd", "replay")
"""Prefixes that never reach litellm, offered as corrections all the same."""
HOW_TO_NAME = (
    f"name a model as provider/model, such as {PROVIDERS[0].model}, or as file/DIR, cmd/COMMAND or replay/ARCHIVE"
)


class ApiModel(Persistent):
    """A model named by a litellm string."""

    def __init__(
        self,
        name: str,
        *,
        sampling: Sampling | None = None,
        options: ModelOptions | None = None,
        on_failure: OnFailure | None = None,
    ) -> None:
        """Raises UnknownModel where no provider answers to `name`; touches no network."""
        super().__init__(name, options, on_failure)
        self.sampling = sampling or Sampling()
        self.provider, self._default_base = _provider(name)

    def check(self) -> None:
        """Raises ModelUnavailable where the provider's key is missing; touches no network."""
        missing = self._missing_keys()
        if missing:
            raise ModelUnavailable(
                f"{self.name} needs a key of {self.provider}; set {missing} (any text where the endpoint needs none)"
            )

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
        answer = Answer(
            text=choice.message.content or "",
            model=self.name,
            answered_by=response.model or "",
            sampling=self.sampling,
            usage=_usage(response),
            seconds=seconds,
        )
        return examined(answer, choice.finish_reason or "", _refusal(choice.message))

    def _sentence(self, failure: Failure, attempts: int) -> str:
        return sentence(failure, self._asked(attempts))

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


def _refusal(message: Any) -> str:
    """What a model says in place of an answer; litellm keeps it among what only some providers send."""
    fields = getattr(message, "provider_specific_fields", None) or {}
    return str(getattr(message, "refusal", None) or fields.get("refusal") or "")


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
