"""A model that can call a tool, behind a real HTTP server, with a workbench whose builds are a word."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from treesearch.errors import ModelUnavailable, PromptTooLong, QuestionRefused
from treesearch.models import MOST_BUILDS, ApiModel, Failure, ModelOptions, Pool, Workbench
from treesearch.models.workbench import LAST, NO_SOURCE, NONE_LEFT
from treesearch.records import Answer, Request, Sampling, Stage, Turn, Usage
from treesearch.testing import (
    FILTERED,
    NO_CHOICES,
    REFUSAL,
    TOO_LONG,
    Call,
    HttpReply,
    ScriptedEndpoint,
    ScriptedModel,
    building,
)

MODEL = "openai/gpt-5.1"
REQUEST = Request("run", 0, Stage.KERNEL, "problem", "", "0", "Write a kernel.")
NOTE = "You have a tool."
BUSY = HttpReply("slow down", status=429)
NO_TOOLS = HttpReply("This model does not support tools.", status=400)

Reply = str | HttpReply


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "dummy")


@dataclass
class Bench:
    """A model at an endpoint that gives the replies in turn, the last one for ever, and what it left behind."""

    endpoint: ScriptedEndpoint
    model: ApiModel
    failures: list[Failure]
    built: list[str] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    has_room: Callable[[Sequence[Turn]], bool] = lambda turns: True
    prompt: str = ""
    """As it was put in the end."""

    def ask(self, request: Request = REQUEST) -> Answer:
        put, answer = self.model.ask_at(self.workbench(), request)
        self.prompt = put.prompt
        return answer

    def workbench(self) -> Workbench:
        return Workbench(
            put=lambda asked: replace(asked, prompt=f"{asked.prompt} {NOTE}"),
            build=self._build,
            has_room=lambda turns: self.has_room(turns),
            said=lambda model: [turn for turn in self.turns if turn.model == model],
            keep=self.turns.append,
        )

    def _build(self, source: str) -> str:
        self.built.append(source)
        return f"It builds: {source}"

    @property
    def calls(self) -> list[Call]:
        return self.endpoint.calls

    @property
    def offered(self) -> list[bool | None]:
        """Of each call, whether the tool might be called; None where it was not even named."""
        return [
            call.parameters.get("tool_choice") != "none" if "tools" in call.parameters else None for call in self.calls
        ]


@contextmanager
def bench(*replies: Reply, name: str = MODEL, concurrency: int = 64) -> Iterator[Bench]:
    remaining, failures = list(replies), list[Failure]()
    with ScriptedEndpoint(lambda _: remaining.pop(0) if len(remaining) > 1 else remaining[0]) as endpoint:
        options = ModelOptions(backoff_seconds=0.001, api_base=endpoint.base_url, concurrency=concurrency)
        model = ApiModel(name, options=options, on_failure=lambda _, failure: failures.append(failure))
        yield Bench(endpoint, model, failures)


def calling(*calls: tuple[str, str]) -> HttpReply:
    return HttpReply(calls=calls)


def saying(reply: HttpReply, **more: Any) -> HttpReply:
    """A reply with more in its message."""
    response = json.loads(reply.payload())
    response["choices"][0]["message"].update(more)
    return HttpReply(body=json.dumps(response))


# ── a conversation ──────────────────────────────────────────────────────────────────────────────


def test_a_model_builds_twice_reads_what_came_of_it_and_answers() -> None:
    with bench(building("one"), building("two"), "the kernel") as at:
        answer = at.ask()
    assert (answer.text, answer.model, answer.help) == ("the kernel", MODEL, "build tool, 2 builds")
    assert at.built == ["one", "two"]
    assert at.prompt == "Write a kernel. You have a tool."
    assert at.offered == [True, True, True]
    first, second, third = at.calls
    assert [one["content"] for one in first.messages] == [at.prompt]
    assert third.messages[: len(second.messages)] == second.messages, "what was said stays, so that caches hit"
    assert [one["role"] for one in third.messages] == ["user", "assistant", "tool", "assistant", "tool"]
    assert [one["content"] for one in third.messages if one["role"] == "tool"] == ["It builds: one", "It builds: two"]
    assert third.messages[2]["tool_call_id"] == third.messages[1]["tool_calls"][0]["id"]
    assert [(turn.number, turn.reports, turn.usage.input_tokens) for turn in at.turns] == [
        (0, ("It builds: one",), 11),
        (1, ("It builds: two",), 11),
    ]


def test_a_model_that_needs_no_build_answers_at_once() -> None:
    with bench("the kernel") as at:
        answer = at.ask()
    assert (answer.text, answer.help, at.turns, at.failures) == ("the kernel", "build tool, no builds", [], [])


def test_the_tool_takes_a_source_and_says_what_it_does() -> None:
    with bench("the kernel") as at:
        at.ask()
    (tool,) = at.calls[0].parameters["tools"]
    assert tool["function"]["name"] == "build"
    assert tool["function"]["parameters"]["required"] == ["source"]
    assert "_skip_mcp_handler" not in at.calls[0].parameters


def test_after_the_last_build_the_tool_is_not_offered_and_the_model_is_told_to_answer() -> None:
    with bench(*(building(str(number)) for number in range(MOST_BUILDS)), "the kernel") as at:
        answer = at.ask()
    assert (answer.text, answer.help) == ("the kernel", "build tool, 4 builds")
    assert at.offered == [True] * MOST_BUILDS + [False]
    assert [LAST in turn.reports[-1] for turn in at.turns] == [False, False, False, True]


def test_calls_of_one_message_are_answered_in_order_as_long_as_builds_are_left() -> None:
    with bench(building("a", "b"), building("c", "d", "e"), "the kernel") as at:
        answer = at.ask()
    assert at.built == ["a", "b", "c", "d"]
    assert at.turns[0].reports == ("It builds: a", "It builds: b")
    assert at.turns[1].reports == ("It builds: c", "It builds: d", f"{NONE_LEFT}\n\n{LAST}")
    assert [one["tool_call_id"] for one in at.calls[-1].messages if one["role"] == "tool"] == [
        *("call_0", "call_1"),
        *("call_0", "call_1", "call_2"),
    ]
    assert (answer.help, at.offered) == ("build tool, 4 builds", [True, True, False])


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("build", '{"source": "int '), NO_SOURCE),
        (("build", "[]"), NO_SOURCE),
        (("build", '{"source": 7}'), NO_SOURCE),
        (("build", ""), NO_SOURCE),
        (("run", '{"source": "x"}'), "Nothing was done: there is no tool 'run', only `build`."),
    ],
)
def test_a_call_that_cannot_be_followed_is_answered_with_the_reason(call: tuple[str, str], told: str) -> None:
    with bench(calling(call), building("one"), "the kernel") as at:
        answer = at.ask()
    assert at.turns[0].reports == (told,)
    assert (at.built, answer.help) == (["one"], "build tool, 1 build")
    for one in at.calls[-1].messages:
        for given in one.get("tool_calls", ()):
            assert isinstance(json.loads(given["function"]["arguments"]), dict), "endpoints take nothing else back"


def test_calls_that_build_nothing_are_bounded_too() -> None:
    with bench(*[calling(("run", "{}"))] * MOST_BUILDS, "the kernel") as at:
        answer = at.ask()
    assert (answer.help, at.offered[-1]) == ("build tool, no builds", False)
    assert len(at.calls) == MOST_BUILDS + 1


def test_what_a_model_says_beside_a_call_goes_back_with_it() -> None:
    aside = replace(building("one"), text="Let me see.")
    with bench(aside, "the kernel") as at:
        at.ask()
    assert at.calls[-1].messages[1]["content"] == "Let me see."
    assert "provider_specific_fields" not in at.calls[-1].messages[1], "it says nothing, and not everybody knows it"


def test_reasoning_goes_back_where_it_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "dummy")
    details = [{"type": "reasoning.encrypted", "data": "signature", "index": 0}]
    with bench(saying(building("one"), reasoning_details=details), "text", name="openrouter/openai/gpt-5.1") as at:
        at.ask()
    assert at.calls[-1].messages[1]["reasoning_details"] == details


def test_what_utf_8_cannot_hold_is_replaced_in_what_is_built_and_sent_back() -> None:
    broken = calling(("build", json.dumps({"source": "int \ud83d"})))
    with bench(saying(broken, content="Let me \ud83d see."), "the kernel") as at:
        assert at.ask().help == "build tool, 1 build"
    assert at.built == ["int ?"]
    assert at.calls[-1].messages[1]["content"] == "Let me ? see."


def test_a_place_is_free_for_another_question_while_a_model_waits_for_its_build() -> None:
    other = threading.Event()

    def reply(prompt: str) -> Reply:
        if prompt == "another":
            other.set()
            return "text"
        return "the kernel" if prompt.startswith("waited") else building("one")

    with ScriptedEndpoint(reply) as endpoint:
        model = ApiModel(MODEL, options=ModelOptions(concurrency=1, api_base=endpoint.base_url))
        at = Bench(endpoint, model, [])

        def build(source: str) -> str:
            thread = threading.Thread(target=model.ask, args=[replace(REQUEST, prompt="another")])
            thread.start()
            return f"waited: {other.wait(60)}"

        _, answer = model.ask_at(replace(at.workbench(), build=build), REQUEST)
    assert (answer.text, at.turns[0].reports) == ("the kernel", ("waited: True",))


# ── what can go wrong in the middle ─────────────────────────────────────────────────────────────


def test_a_call_that_fails_is_made_again_with_the_turns_so_far() -> None:
    with bench(BUSY, building("one"), BUSY, HttpReply("oops", status=500), building("two"), BUSY, "text") as at:
        answer = at.ask()
    assert (answer.text, answer.help, at.built) == ("text", "build tool, 2 builds", ["one", "two"])
    assert [len(call.messages) for call in at.calls] == [1, 1, 3, 3, 3, 5, 5]
    assert [str(failure).partition(":")[0] for failure in at.failures] == [
        "rate limit",
        "rate limit",
        "server error or malformed response",
        "rate limit",
    ]


def test_each_call_has_attempts_of_its_own_and_the_turns_stay_for_another_time() -> None:
    with bench(building("one"), BUSY, BUSY, BUSY, BUSY, "text") as at:
        with pytest.raises(ModelUnavailable, match="after 4 attempts"):
            at.ask()
        assert at.ask().help == "build tool, 1 build"
    assert (at.built, len(at.calls)) == (["one"], 6)


@pytest.mark.parametrize("reply", [REFUSAL, FILTERED])
def test_a_refusal_in_the_middle_is_the_models_last_word(reply: HttpReply) -> None:
    with bench(building("one"), reply) as at, pytest.raises(QuestionRefused):
        at.ask()
    assert [turn.reports for turn in at.turns] == [("It builds: one",)]


def test_turns_that_do_not_fit_any_more_are_forgotten_the_oldest_first() -> None:
    with bench(building("one"), building("two"), TOO_LONG, "text") as at:
        assert at.ask().help == "build tool, 2 builds"
    assert [len(call.messages) for call in at.calls] == [1, 3, 5, 3]
    assert at.calls[-1].messages[-1]["content"] == "It builds: two"


def test_a_prompt_that_is_too_long_by_itself_is_said_to_be() -> None:
    with bench(building("one"), TOO_LONG) as at, pytest.raises(PromptTooLong):
        at.ask()
    assert [len(call.messages) for call in at.calls] == [1, 3, 1]


def test_an_answer_that_is_cut_off_is_asked_for_once_more() -> None:
    with bench(building("one"), HttpReply("half", finish_reason="length"), "whole") as at:
        assert at.ask().text == "whole"
    assert len(at.failures) == 1


@pytest.mark.parametrize("reply", [HttpReply(""), NO_CHOICES, HttpReply("oops", status=500)])
def test_where_nothing_comes_of_a_conversation_this_question_is_put_plainly(reply: HttpReply) -> None:
    with bench(building("one"), *[reply] * 4, "the kernel", building("two"), "another kernel") as at:
        answer = at.ask()
        at.turns.clear()
        other = at.ask(replace(REQUEST, ordinal="1"))
    assert (answer.text, answer.help) == ("the kernel", "")
    assert (other.text, other.help) == ("another kernel", "build tool, 1 build")


# ── models without tools ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "refusal",
    [
        NO_TOOLS,
        HttpReply("No endpoints found that support tool use.", status=404),
        HttpReply("tools param requires --jinja flag", status=500),
        HttpReply("Unrecognized request argument supplied: functions; function calling is off", status=422),
    ],
)
def test_an_endpoint_that_takes_no_tools_is_asked_without_from_then_on(refusal: HttpReply) -> None:
    with bench(refusal, "the kernel") as at:
        answer, prompt = at.ask(), at.prompt
        at.ask(replace(REQUEST, ordinal="1"))
    assert (answer.text, answer.help, prompt) == ("the kernel", "", "Write a kernel.")
    assert at.offered == [True, None, None]
    assert [call.prompt for call in at.calls] == [f"Write a kernel. {NOTE}", *["Write a kernel."] * 2]
    assert [failure.kind for failure in at.failures] == ["tools refused"]


def test_a_model_whose_tools_only_another_api_takes_is_asked_plainly() -> None:
    """litellm would turn to that API by itself, and needs packages for it that we do not install."""
    said = "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions."
    with bench(HttpReply(said, status=400), "the kernel", name="openai/gpt-5.6") as at:
        at.model.sampling = Sampling(reasoning_effort="high")
        assert at.ask().help == ""
    assert at.offered == [True, None]
    assert "_skip_responses_api_bridge" not in at.calls[0].parameters


def test_another_refusal_at_the_first_call_is_no_word_about_tools() -> None:
    with (
        bench(HttpReply("temperature must be 1", status=400)) as at,
        pytest.raises(ModelUnavailable, match="must be 1"),
    ):
        at.ask()
    assert len(at.calls) == 1


def test_a_refusal_in_the_middle_may_mean_the_form_of_the_conversation() -> None:
    with bench(building("one"), HttpReply("messages.1: unknown field", status=400), "the kernel") as at:
        answer = at.ask()
    assert (answer.text, answer.help) == ("the kernel", "")
    assert at.offered == [True, True, None]


def test_a_model_that_goes_on_calling_what_is_not_offered_is_asked_plainly() -> None:
    with bench(*[building("again")] * (MOST_BUILDS + 1), "the kernel") as at:
        answer = at.ask()
    assert (answer.text, len(at.built)) == ("the kernel", MOST_BUILDS)
    assert at.turns[-1].reports == (NONE_LEFT,)
    assert at.offered == [True] * MOST_BUILDS + [False, None]


@pytest.mark.parametrize("name", ["openai/scripted", "hosted_vllm/anything"])
def test_a_model_that_is_not_known_to_call_functions_is_asked_plainly(name: str) -> None:
    with bench("the kernel", name=name) as at:
        assert at.ask().help == ""
    assert at.offered == [None]


def test_a_provider_that_passes_questions_on_is_known_by_the_model_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "dummy")
    with bench("the kernel", name="openrouter/openai/gpt-5.1") as at:
        assert at.ask().help == "build tool, no builds"


def test_other_kinds_of_models_have_no_use_for_a_workbench() -> None:
    scripted = ScriptedModel("scripted", lambda request: request.prompt)
    with bench("text") as at:
        put, answer = Pool([scripted], [scripted]).ask(REQUEST, 0, at.workbench())
    assert (put, answer.text) == (REQUEST, "Write a kernel.")


# ── budgets ─────────────────────────────────────────────────────────────────────────────────────


def test_without_room_for_a_second_call_the_question_is_put_plainly() -> None:
    with bench("the kernel") as at:
        at.has_room = lambda turns: False
        assert at.ask().help == ""
    assert at.offered == [None]


def test_without_room_for_another_build_the_next_call_is_the_last() -> None:
    with bench(building("one"), "the kernel") as at:
        at.has_room = lambda turns: not turns
        assert at.ask().help == "build tool, 1 build"
    assert at.offered == [True, False]


# ── going on ────────────────────────────────────────────────────────────────────────────────────


def test_a_conversation_goes_on_from_the_turns_that_are_stored() -> None:
    refused = HttpReply("no such key", status=401)
    with bench(building("one"), building("two"), refused) as before, pytest.raises(ModelUnavailable):
        before.ask()
    with bench(building("three"), "the kernel") as at:
        at.turns = [*before.turns, Turn("openai/another", 0, before.turns[0].message, ("elsewhere",))]
        answer = at.ask()
    assert (answer.help, at.built) == ("build tool, 3 builds", ["three"])
    assert at.calls[0].messages == before.calls[-1].messages
    assert at.turns[-1].number == 2
    assert answer.usage == Usage(11, 7, answer.usage.cost_usd), "that of the last call; the turns keep theirs"
