"""The fakes that treesearch ships do what they say."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request

import pytest

from treesearch.records import Request, Stage
from treesearch.testing import MALFORMED, HttpReply, ScriptedEndpoint, ScriptedModel, building

REQUEST = Request("run", 0, Stage.IDEAS, "problem", "", "0", "prompt")


def post(endpoint: ScriptedEndpoint, prompt: str, path: str = "/chat/completions") -> bytes:
    posted = {"model": "m", "messages": [{"role": "user", "content": prompt}]}
    request = urllib.request.Request(endpoint.base_url + path, json.dumps(posted).encode())
    with urllib.request.urlopen(request, timeout=10) as response:
        content: bytes = response.read()
        return content


def refused(endpoint: ScriptedEndpoint, path: str = "/chat/completions") -> tuple[int, str]:
    """Status and message of a response that is an error."""
    with pytest.raises(urllib.error.HTTPError) as raised:
        post(endpoint, "prompt", path)
    with raised.value as error:
        return error.code, json.loads(error.read())["error"]["message"]


def test_a_scripted_model_answers_from_its_script_and_remembers_what_it_was_asked() -> None:
    model = ScriptedModel("scripted", lambda request: request.prompt.upper())
    answer = model.ask(REQUEST)
    assert (answer.text, answer.model) == ("PROMPT", "scripted")
    assert model.requests == [REQUEST]


def test_a_scripted_model_fails_as_its_script_fails() -> None:
    model = ScriptedModel("scripted", lambda _: [][0])
    with pytest.raises(IndexError):
        model.ask(REQUEST)
    assert model.requests == [REQUEST]


def test_an_endpoint_speaks_chat_completions_and_logs_its_calls() -> None:
    before = time.monotonic()
    with ScriptedEndpoint(lambda prompt: f"re: {prompt}") as endpoint:
        completion = json.loads(post(endpoint, "hello"))
    assert completion["choices"][0]["message"]["content"] == "re: hello"
    assert completion["usage"]["total_tokens"] == 18
    (call,) = endpoint.calls
    assert (call.prompt, call.parameters) == ("hello", {"model": "m"})
    assert before < call.at < time.monotonic()


def test_an_endpoint_calls_tools() -> None:
    with ScriptedEndpoint(lambda _: building("int x;")) as endpoint:
        (choice,) = json.loads(post(endpoint, "hello"))["choices"]
    (called,) = choice["message"]["tool_calls"]
    assert (called["function"]["name"], choice["finish_reason"]) == ("build", "tool_calls")
    assert json.loads(called["function"]["arguments"]) == {"source": "int x;"}
    assert endpoint.calls[0].messages == [{"role": "user", "content": "hello"}]


def test_an_endpoint_sends_a_body_as_it_is() -> None:
    with ScriptedEndpoint(lambda _: MALFORMED) as endpoint:
        assert post(endpoint, "prompt") == b'{"choices": ['


def test_an_endpoint_fails_as_it_is_told() -> None:
    with ScriptedEndpoint(lambda _: HttpReply("no", status=418)) as endpoint:
        assert refused(endpoint) == (418, "no")
        assert refused(endpoint, "/elsewhere")[0] == 404


def test_a_mistake_in_the_script_reaches_the_client() -> None:
    with ScriptedEndpoint(lambda _: [][0]) as endpoint:
        status, message = refused(endpoint)
    assert status == 500
    assert "the script failed: IndexError" in message


def test_an_endpoint_answers_in_parallel_and_closes_while_a_reply_is_delayed() -> None:
    arrived = threading.Event()

    def reply(prompt: str) -> HttpReply:
        if prompt == "quick":
            return HttpReply("now")
        arrived.set()
        return HttpReply("late", delay_seconds=60)

    started = time.monotonic()
    with ScriptedEndpoint(reply) as endpoint:
        slow = threading.Thread(target=post, args=(endpoint, "slow"))
        slow.start()
        assert arrived.wait(10)
        assert b"now" in post(endpoint, "quick")
    slow.join()
    assert time.monotonic() - started < 10
