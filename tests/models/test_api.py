"""API models against a real HTTP server. Every HTTP call is counted, so no retry can hide in the transport."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from treesearch.errors import ModelError, ModelUnavailable, UnknownModel
from treesearch.models import PROVIDERS, ApiModel, Failure, ModelOptions, OnFailure, Provider
from treesearch.models.persistent import within
from treesearch.records import Request, Sampling, Stage, Usage
from treesearch.testing import MALFORMED, NO_CHOICES, HttpReply, ScriptedEndpoint, nobody_listens

REQUEST = Request("run", 0, Stage.KERNEL, "problem", "", "0", "Write a kernel.")
KEY = "sk-scripted-key"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@contextmanager
def asked(
    *replies: str | HttpReply,
    name: str = "openai/scripted",
    sampling: Sampling | None = None,
    attempts: int = 3,
    timeout_seconds: float = 10.0,
    on_failure: OnFailure | None = None,
) -> Iterator[tuple[ApiModel, ScriptedEndpoint]]:
    """A model whose endpoint gives the replies in turn, the last one for ever."""
    remaining = list(replies)
    with ScriptedEndpoint(lambda _: remaining.pop(0) if len(remaining) > 1 else remaining[0]) as endpoint:
        options = ModelOptions(timeout_seconds, attempts, backoff_seconds=0.01, api_base=endpoint.base_url)
        yield ApiModel(name, sampling=sampling, options=options, on_failure=on_failure), endpoint


# ── answers ─────────────────────────────────────────────────────────────────────────────────────


def test_an_answer_carries_its_text_tokens_latency_and_the_name_that_answered() -> None:
    with asked("the kernel") as (model, endpoint):
        answer = model.ask(REQUEST)
    assert answer.text == "the kernel"
    assert answer.model == "openai/scripted"
    assert answer.answered_by == "scripted-2026-01-01"
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (11, 7)
    assert answer.seconds is not None
    assert 0 < answer.seconds < 10
    assert [call.prompt for call in endpoint.calls] == ["Write a kernel."]


def test_a_model_without_a_price_has_no_cost() -> None:
    with asked("text") as (model, _):
        assert model.ask(REQUEST).usage.cost_usd is None


def test_a_priced_model_costs_what_its_tokens_cost() -> None:
    with asked(HttpReply("text", usage=(1000, 100)), name="openai/gpt-5.1") as (model, _):
        assert model.ask(REQUEST).usage.cost_usd == pytest.approx(1000 * 1.25e-6 + 100 * 1e-5)


def test_a_response_that_reports_no_tokens_leaves_tokens_and_cost_unknown() -> None:
    with asked(HttpReply("text", usage=None), name="openai/gpt-5.1") as (model, _):
        assert model.ask(REQUEST).usage == Usage(None, None, None)


@pytest.mark.parametrize("text", ["half a ker", ""])
def test_an_answer_cut_off_by_its_length_is_asked_for_once_more(text: str) -> None:
    told: list[Failure] = []
    cut_off = HttpReply(text, finish_reason="length")
    with asked(cut_off, "whole", on_failure=lambda _, failure: told.append(failure)) as (model, endpoint):
        assert model.ask(REQUEST).text == "whole"
    assert len(endpoint.calls) == 2
    assert [(str(failure), failure.said and failure.said.text) for failure in told] == [
        ("answer cut off: finish_reason length", text)
    ]


@pytest.mark.parametrize("attempts", [1, 4])
def test_an_answer_that_is_cut_off_each_time_is_given_as_it_is(attempts: int) -> None:
    told: list[Failure] = []
    cut_off = HttpReply("```cpp\nhalf a ker")
    with asked(cut_off, attempts=attempts, on_failure=lambda _, failure: told.append(failure)) as (model, endpoint):
        assert model.ask(REQUEST).text == "```cpp\nhalf a ker"
    assert (len(endpoint.calls), len(told)) == (min(attempts, 2), min(attempts, 2) - 1)


def test_sampling_reaches_the_endpoint_and_the_answer() -> None:
    sampling = Sampling(temperature=0.5, max_tokens=99, reasoning_effort="high")
    with asked("text", sampling=sampling) as (model, endpoint):
        assert model.ask(REQUEST).sampling == sampling
    sent = endpoint.calls[0].parameters
    assert (sent["temperature"], sent["max_tokens"], sent["reasoning_effort"]) == (0.5, 99, "high")


def test_unset_sampling_is_not_sent() -> None:
    with asked("text") as (model, endpoint):
        model.ask(REQUEST)
    assert not {"temperature", "max_tokens", "reasoning_effort"} & set(endpoint.calls[0].parameters)


def test_a_reasoning_effort_is_sent_to_a_model_that_declares_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", KEY)
    with asked("text", name="mistral/scripted", sampling=Sampling(reasoning_effort="low")) as (model, endpoint):
        model.ask(REQUEST)
    assert endpoint.calls[0].parameters["reasoning_effort"] == "low"


@pytest.mark.parametrize("variable", ["OPENAI_API_BASE", "OPENAI_BASE_URL"])
def test_the_endpoint_can_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    with ScriptedEndpoint(lambda prompt: prompt.upper()) as endpoint:
        monkeypatch.setenv(variable, endpoint.base_url)
        assert ApiModel("openai/scripted").ask(REQUEST).text == "WRITE A KERNEL."


def test_many_threads_may_ask_at_once() -> None:
    together = threading.Barrier(4, timeout=20)

    def reply(prompt: str) -> str:
        together.wait()  # passes only when four calls are in flight at the same time
        return prompt

    with ScriptedEndpoint(reply) as endpoint:
        model = ApiModel("openai/scripted", options=ModelOptions(30, attempts=1, api_base=endpoint.base_url))
        texts: list[str] = []
        requests = [Request("run", 0, Stage.IDEAS, "p", "", str(n), f"prompt {n}") for n in range(4)]
        threads = [threading.Thread(target=lambda r=r: texts.append(model.ask(r).text)) for r in requests]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(texts) == [request.prompt for request in requests]


# ── failures that another attempt may cure ──────────────────────────────────────────────────────

PASSING = {
    "rate limit": HttpReply("slow down", status=429),
    "server error": HttpReply("oops", status=500),
    "overloaded": HttpReply("overloaded", status=529),
    "bad gateway": HttpReply(status=502, body="<html>bad gateway</html>"),
    "malformed JSON": MALFORMED,
    "no choices": NO_CHOICES,
    "empty choices": HttpReply(body='{"id": "x", "object": "chat.completion", "model": "m", "choices": []}'),
    "empty text": HttpReply(""),
}


@pytest.mark.parametrize("failure", PASSING.values(), ids=PASSING.keys())
def test_a_passing_failure_is_tried_again_and_reported(failure: HttpReply) -> None:
    told: list[tuple[Request, str]] = []

    def tell(request: Request, failed: Failure) -> None:
        told.append((request, str(failed)))

    with asked(failure, failure, "at last", on_failure=tell) as (model, endpoint):
        assert model.ask(REQUEST).text == "at last"
    assert len(endpoint.calls) == 3
    assert [request for request, _ in told] == [REQUEST, REQUEST]
    assert all(reason and "\n" not in reason for _, reason in told)


@pytest.mark.parametrize("failure", PASSING.values(), ids=PASSING.keys())
def test_a_lasting_failure_is_given_up_after_exactly_the_attempts_allowed(failure: HttpReply) -> None:
    told: list[str] = []
    with (
        asked(failure, attempts=2, on_failure=lambda _, failure: told.append(str(failure))) as (model, endpoint),
        pytest.raises(ModelUnavailable, match=r"openai/scripted gave no answer after 2 attempts.*same command"),
    ):
        model.ask(REQUEST)
    assert (len(endpoint.calls), len(told)) == (2, 2)


def test_pauses_grow() -> None:
    busy = HttpReply("slow down", status=429)
    with ScriptedEndpoint(lambda _: busy) as endpoint:
        options = ModelOptions(attempts=3, backoff_seconds=0.4, api_base=endpoint.base_url)
        with pytest.raises(ModelUnavailable):
            ApiModel("openai/scripted", options=options).ask(REQUEST)
    first, second, third = (call.at for call in endpoint.calls)
    assert second - first >= 0.2
    assert third - second >= 0.4


def test_a_retry_after_header_is_honoured() -> None:
    with asked(HttpReply("slow down", status=429, headers={"Retry-After": "1"}), "text") as (model, endpoint):
        model.ask(REQUEST)
    first, second = (call.at for call in endpoint.calls)
    assert second - first >= 1


def test_a_hang_ends_at_the_timeout() -> None:
    with asked("warm", HttpReply("late", delay_seconds=60), attempts=2, timeout_seconds=1) as (model, endpoint):
        model.ask(REQUEST)  # the first call of a process spends a while in its imports
        started = time.monotonic()
        with pytest.raises(ModelUnavailable, match="timeout"):
            model.ask(REQUEST)
        assert time.monotonic() - started < 10
    assert len(endpoint.calls) == 3


def test_work_that_ignores_its_timeout_is_left_behind() -> None:
    stuck = threading.Event()
    with pytest.raises(TimeoutError, match=r"within 0\.05 s"):
        within(0.05, stuck.wait)
    stuck.set()


@pytest.mark.parametrize("name", ["openai/scripted", "anthropic/scripted"])
def test_an_endpoint_that_nobody_serves_cannot_be_reached(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    base = nobody_listens()
    told: list[str] = []
    model = ApiModel(
        name,
        options=ModelOptions(attempts=2, backoff_seconds=0.01, api_base=base),
        on_failure=lambda _, failure: told.append(str(failure)),
    )
    with pytest.raises(ModelUnavailable, match=f"cannot reach {base} for {name} .*refused.*same command goes on"):
        model.ask(REQUEST)
    assert len(told) == 2


def test_an_address_without_a_protocol_cannot_be_reached() -> None:
    model = ApiModel("openai/scripted", options=ModelOptions(attempts=1, api_base="localhost/v1"))
    with pytest.raises(ModelUnavailable, match=r"cannot reach localhost/v1 .*protocol"):
        model.ask(REQUEST)


# ── failures that would come again ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (HttpReply("bad key", status=401), "openai refuses the key .*OPENAI_API_KEY"),
        (HttpReply("not yours", status=403), "openai refuses the key .*OPENAI_API_KEY"),
        (HttpReply("unknown model", status=404), "openai has no model openai/scripted"),
        (HttpReply("temperature must be 1", status=400), "refuses the request .*temperature must be 1"),
        (HttpReply("no credit", status=402), "refuses the request .*no credit"),
        (HttpReply("This model's maximum context length is 8192 tokens", status=400), "prompt is longer than"),
    ],
)
def test_what_would_fail_again_is_asked_once(reply: HttpReply, sentence: str) -> None:
    told: list[str] = []
    with (
        asked(reply, on_failure=lambda _, failure: told.append(str(failure))) as (model, endpoint),
        pytest.raises(ModelError, match=sentence),
    ):
        model.ask(REQUEST)
    assert (len(endpoint.calls), len(told)) == (1, 1)


def test_a_key_that_the_endpoint_echoes_is_not_shown() -> None:
    told: list[str] = []
    with (
        asked(HttpReply(f"wrong key {KEY}", status=401), on_failure=lambda _, failure: told.append(str(failure))) as (
            model,
            _,
        ),
        pytest.raises(ModelUnavailable) as raised,
    ):
        model.ask(REQUEST)
    assert "wrong key" in str(raised.value)
    assert KEY not in str(raised.value) + "".join(told)


# ── before any call ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "variable_and_name", [("OPENAI_API_KEY", "openai/x"), ("PERPLEXITYAI_API_KEY", "perplexity/x")]
)
def test_a_missing_key_is_named_before_any_call(
    monkeypatch: pytest.MonkeyPatch, variable_and_name: tuple[str, str]
) -> None:
    variable, name = variable_and_name
    monkeypatch.delenv(variable, raising=False)
    with ScriptedEndpoint(lambda _: "text") as endpoint:
        model = ApiModel(name, options=ModelOptions(api_base=endpoint.base_url))
        for question in (model.check, lambda: model.ask(REQUEST)):
            with pytest.raises(ModelUnavailable, match=variable):
                question()
    assert endpoint.calls == []


def test_a_local_server_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    ApiModel("ollama/llama3").check()
    ApiModel("hosted_vllm/anything").check()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("opanai/gpt-5.1", r"no provider is called 'opanai' \(close: .*openai.*\);"),
        ("flie/answers", r"no provider is called 'flie' \(close: .*file.*\);"),
        ("gpt-5.4-minni", r"no provider is known for a model 'gpt-5.4-minni' \(close: .*gpt-5.4-mini.*\);"),
        ("qqqqqqqq/x", "no provider is called 'qqqqqqqq'; name a model as provider/model"),
        ("openai/", "not the name of a model.*provider/model"),
        ("", "not the name of a model.*provider/model"),
    ],
)
def test_a_string_without_a_provider_is_refused_with_what_comes_close(
    capfd: pytest.CaptureFixture[str], name: str, sentence: str
) -> None:
    with pytest.raises(UnknownModel, match=sentence):
        ApiModel(name)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)
def test_every_suggested_model_is_a_reasoning_model_that_litellm_prices(provider: Provider) -> None:
    assert ApiModel(provider.model).provider == provider.name
    if provider.name == "openrouter":
        return  # it passes requests on to others, and litellm lists none of its models
    import litellm  # after ApiModel, which keeps the import off the network

    known = litellm.get_model_info(provider.model)
    assert (known["litellm_provider"], known["mode"]) == (provider.name, "chat")
    assert known["supports_reasoning"]
    assert known["output_cost_per_token"]


def test_asking_prints_nothing_and_warns_of_nothing_even_where_warnings_are_errors() -> None:
    with ScriptedEndpoint(lambda _: "text") as endpoint:
        script = (
            "from treesearch.models import ApiModel, ModelOptions\n"
            "from treesearch.records import Request, Stage\n"
            f"model = ApiModel('openai/scripted', options=ModelOptions(attempts=1, api_base={endpoint.base_url!r}))\n"
            "assert model.ask(Request('run', 0, Stage.IDEAS, '', '', '0', 'prompt')).text == 'text'\n"
        )
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_importing_the_models_leaves_litellm_alone() -> None:
    script = "import sys, treesearch.models, treesearch.testing; print('litellm' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    "broken",
    [
        lambda: ModelOptions(attempts=0),
        lambda: ModelOptions(0),
        lambda: ModelOptions(poll_seconds=0),
        lambda: ModelOptions(concurrency=0),
        lambda: ModelOptions(calls_per_minute=0),
    ],
)
def test_options_that_cannot_work_are_refused(broken: Callable[[], ModelOptions]) -> None:
    with pytest.raises(ValueError, match=r"attempt|poll_seconds|at least one call"):
        broken()
