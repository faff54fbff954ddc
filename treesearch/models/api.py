"""Models behind an API. litellm is the transport and nothing else: retries, timeouts and prices are ours."""

from __future__ import annotations

import difflib
import json
import logging
import os
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import cached_property, partial
from types import ModuleType
from typing import Any, TypeVar

from treesearch.errors import ModelUnavailable, NothingSaid, ToolsRefused, UnknownModel
from treesearch.models.base import ModelOptions, OnFailure
from treesearch.models.failures import Asked, Failure, Kind, classify, examined, one_line, sentence, with_tools
from treesearch.models.persistent import Persistent, within
from treesearch.models.providers import PROVIDERS, provider_named
from treesearch.models.workbench import OFFER, Workbench, converse, messages, writable
from treesearch.records import Answer, Request, Sampling, Turn, Usage

T = TypeVar("T")
Message = dict[str, Any]
"""In OpenAI's form."""

OURS = ("file", "cmd", "replay")
"""Prefixes that never reach litellm, offered as corrections all the same."""
HOW_TO_NAME = (
    f"name a model as provider/model, such as {PROVIDERS[0].model}, or as file/DIR, cmd/COMMAND or replay/ARCHIVE"
)


class ApiModel(Persistent):
    """A model named by a litellm string. One that can call functions may build before it answers."""

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
        self._refuses_tools = False

    def check(self) -> None:
        """Raises ModelUnavailable where the provider's key is missing; touches no network."""
        missing = self._missing_keys()
        if missing:
            raise ModelUnavailable(
                f"{self.name} needs a key of {self.provider}; set {missing} (any text where the endpoint needs none)"
            )

    def ask_at(self, workbench: Workbench, request: Request) -> tuple[Request, Answer]:
        """The question as it was put and its answer, as `ask` gives it: with the workbench where the model, its
        endpoint and the budget allow that. The answer's usage and time are those of the last call alone.
        """
        self.check()
        if self._calls_functions and not self._refuses_tools and (workbench.said(self.name) or workbench.has_room(())):
            try:
                put = workbench.put(request)
                return put, converse(self.name, workbench, partial(self._said_at, put))
            # Nothing is what Gemini says where it calls a tool in a way that cannot be read, or that it may not call.
            except (ToolsRefused, NothingSaid) as error:
                self._refuses_tools |= isinstance(error, ToolsRefused)
        return request, self.ask(request)

    def _said_at(self, request: Request, turns: Sequence[Turn], offered: bool) -> Answer | Turn:
        """What the model says after some turns."""
        return self._until_said(request, lambda: self._attempt_at(messages(request.prompt, turns), offered))

    def _attempt(self, prompt: str) -> Answer | Failure:
        return self._exchange([{"role": "user", "content": prompt}], {}, self._answer)

    def _attempt_at(self, conversation: list[Message], offered: bool) -> Answer | Turn | Failure:
        outcome = self._exchange(conversation, self._offer(offered), self._answer_or_turn)
        return with_tools(outcome, begun=len(conversation) > 1) if isinstance(outcome, Failure) else outcome

    def _exchange(
        self, conversation: list[Message], offer: dict[str, Any], read: Callable[[Any, float], T]
    ) -> T | Failure:
        started = time.monotonic()
        try:
            response = within(self.options.timeout_seconds, lambda: self._call(conversation, offer))
            return read(response, time.monotonic() - started)
        # The transport raises its own errors, its clients' and bare KeyErrors alike; each becomes a Failure.
        except Exception as error:
            return classify(error)

    def _call(self, conversation: list[Message], offer: dict[str, Any]) -> Any:
        return _litellm().completion(
            model=self.name,
            messages=conversation,
            timeout=self.options.timeout_seconds,
            num_retries=0,
            max_retries=0,
            api_base=self.options.api_base,
            **self._parameters(),
            **offer,
        )

    def _offer(self, offered: bool) -> dict[str, Any]:
        """What says that there is a tool, or that it may be called no more; whoever has called it needs it named."""
        # Otherwise litellm imports a server of tools, which needs packages that we do not install: for any tool, and
        # where it turns a call with tools into one of OpenAI's Responses API, as it does for GPT-5.4 and later.
        bare = {"_skip_mcp_handler": True, "_skip_responses_api_bridge": True}
        offer: dict[str, Any] = {**bare, "tools": [deepcopy(OFFER)]}
        if not offered and self._declares("tool_choice"):
            offer["tool_choice"] = "none"
        return offer

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

    @cached_property
    def _calls_functions(self) -> bool:
        """Whether litellm lists it so, by its name or that of the model behind a provider that passes questions on."""
        names = (self.name, self.name.partition("/")[2])
        return self._declares("tools") and any(_litellm().supports_function_calling(name) for name in names if name)

    def _answer_or_turn(self, response: Any, seconds: float) -> Answer | Turn | Failure:
        if response.choices and response.choices[0].message.tool_calls:
            return Turn(self.name, 0, _as_json(response.choices[0].message), usage=_usage(response), seconds=seconds)
        return self._answer(response, seconds)

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


def _as_json(message: Any) -> str:
    """A message as it can be given back, without fields that say nothing: not every endpoint knows all of them."""
    fields = message.model_dump(exclude_none=True)
    aside = {name: value for name, value in fields.pop("provider_specific_fields", {}).items() if value is not None}
    whole = {**fields, **({"provider_specific_fields": aside} if aside else {})}
    return writable(json.dumps(whole, ensure_ascii=False))


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
