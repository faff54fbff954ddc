"""Several models that share the work."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

import pytest

from treesearch.errors import AnswersExhausted, ModelUnavailable, PromptTooLong, QuestionRefused, Waiting
from treesearch.models import ApiModel, Model, ModelOptions, Pool
from treesearch.models.failures import retry_after
from treesearch.models.gate import Gate
from treesearch.models.pool import names, turns, weighted
from treesearch.records import Config, Request, Stage
from treesearch.testing import HttpReply, ScriptedEndpoint, ScriptedModel

KERNEL = Request("run", 0, Stage.KERNEL, "problem", "", "0", "prompt")
IDEAS = Request("run", 1, Stage.IDEAS, "problem", "parent", "0", "prompt")


def answering(name: str) -> ScriptedModel:
    return ScriptedModel(name, lambda _: f"by {name}")


def failing(name: str, error: Exception) -> ScriptedModel:
    def fail(request: Request) -> str:
        raise error

    return ScriptedModel(name, fail)


def pool(*models: Model) -> Pool:
    return Pool(models, models)


def answerer(asked: Pool, turn: int, request: Request = KERNEL) -> str:
    return asked.ask(request, turn)[1].model


# ── whose turn it is ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("given", "name", "weight"),
    [
        ("openai/gpt-5.6", "openai/gpt-5.6", 1),
        ("openai/gpt-5.6=2", "openai/gpt-5.6", 2),
        ("file/answers=12", "file/answers", 12),
        ("openai/gpt-5.6=0", "openai/gpt-5.6=0", 1),
        ("openai/gpt-5.6=two", "openai/gpt-5.6=two", 1),
        ("cmd/agent --turns=3", "cmd/agent --turns=3", 1),
    ],
)
def test_a_weight_stands_at_the_end_of_a_model_string(given: str, name: str, weight: int) -> None:
    assert weighted(given) == (name, weight)


def test_turns_are_as_many_as_the_weight_and_spread_out() -> None:
    assert turns([("a", 2), ("b", 1), ("c", 3)]) == ("a", "b", "c", "a", "c", "c")


def test_each_model_is_opened_once_whatever_its_roles() -> None:
    assert names(("openai/a=2", "openai/b"), ("openai/a",), ("openai/c=3", "openai/b")) == (
        "openai/a",
        "openai/b",
        "openai/c",
    )


def test_ideas_and_kernels_come_from_the_models_of_their_role() -> None:
    config = Config(models=("x/a", "x/b=2"), idea_models=("x/c",))
    opened: dict[str, Model] = {name: answering(name) for name in ("x/a", "x/b", "x/c")}
    asked = Pool.of(config, opened)
    assert {answerer(asked, turn, IDEAS) for turn in range(6)} == {"x/c"}
    assert Counter(answerer(asked, turn) for turn in range(6)) == {"x/a": 2, "x/b": 4}


def test_the_same_turn_falls_to_the_same_model_in_another_process() -> None:
    first, second = (pool(answering("a"), answering("b"), answering("c")) for _ in range(2))
    one = [answerer(first, turn) for turn in (0, 1, 2, 3, 4)]
    assert one == [answerer(second, turn) for turn in (0, 1, 2, 3, 4)]
    assert [first.whose(KERNEL, turn).name for turn in (4, 0)] == [one[4], one[0]]


# ── who answers in its place ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("error", [ModelUnavailable("down"), QuestionRefused("no"), AnswersExhausted("none")])
def test_where_a_model_fails_another_of_its_role_answers_under_its_own_name(error: Exception) -> None:
    _, answer = pool(failing("a", error), answering("b")).ask(KERNEL, 0)
    assert (answer.text, answer.model) == ("by b", "b")


def test_a_model_of_another_role_is_not_asked() -> None:
    with pytest.raises(ModelUnavailable, match="down"):
        Pool(ideas=[answering("a")], code=[failing("b", ModelUnavailable("down"))]).ask(KERNEL, 0)


def test_a_model_that_failed_for_good_is_asked_last_from_then_on() -> None:
    dead = failing("a", ModelUnavailable("down"))
    asked = pool(dead, answering("b"))
    assert {answerer(asked, turn) for turn in range(4)} == {"b"}
    assert len(dead.requests) == 1


def test_one_that_refused_a_question_is_asked_the_next_in_its_turn() -> None:
    choosy = failing("a", QuestionRefused("no"))
    asked = pool(choosy, answering("b"))
    for _ in range(3):
        asked.ask(KERNEL, 0)
    assert len(choosy.requests) == 3


def test_one_that_a_prompt_was_too_long_for_is_asked_last_about_anything_as_long() -> None:
    def short(request: Request) -> str:
        if len(request.prompt) > 10:
            raise PromptTooLong("too long")
        return "by short"

    models = pool(ScriptedModel("short", short), answering("long"))
    asked = [replace(KERNEL, prompt=length * "x") for length in (20, 20, 30, 15, 10)]
    assert [models.ask(request, 0)[1].model for request in asked] == ["long", "long", "long", "long", "short"]
    assert [len(request.prompt) for request in cast(ScriptedModel, models.code[0]).requests] == [20, 15, 10]
    assert not models.is_too_long(asked[0]), "the other takes it"


def test_what_is_too_long_for_all_of_a_role_is_known_to_be() -> None:
    models = Pool([answering("other")], [failing("short", PromptTooLong("too long"))])
    assert not models.is_too_long(KERNEL)
    with pytest.raises(PromptTooLong):
        models.ask(KERNEL, 0)
    assert models.is_too_long(KERNEL)
    assert not models.is_too_long(replace(KERNEL, prompt=KERNEL.prompt[1:]))
    assert not models.is_too_long(IDEAS)


def test_an_answer_that_is_due_from_outside_is_waited_for() -> None:
    with pytest.raises(Waiting):
        pool(failing("a", Waiting("due", ["a.md"])), answering("b")).ask(KERNEL, 0)


@pytest.mark.parametrize(
    ("errors", "raised"),
    [
        ([ModelUnavailable("down"), AnswersExhausted("none")], ModelUnavailable),
        ([QuestionRefused("no"), ModelUnavailable("down")], QuestionRefused),
        ([QuestionRefused("no"), PromptTooLong("long")], PromptTooLong),
        ([AnswersExhausted("none"), AnswersExhausted("none")], AnswersExhausted),
    ],
)
def test_where_all_fail_what_matters_most_is_raised(errors: list[Exception], raised: type[Exception]) -> None:
    with pytest.raises(raised) as found:
        pool(*(failing(str(number), error) for number, error in enumerate(errors))).ask(KERNEL, 0)
    assert type(found.value) is raised


def test_with_every_model_dead_each_says_why() -> None:
    dead = pool(failing("a", ModelUnavailable("a is down")), failing("b", ModelUnavailable("b has no key")))
    with pytest.raises(ModelUnavailable, match=r"^a is down; and b has no key$"):
        dead.ask(KERNEL, 0)


# ── how often, and how many at once ─────────────────────────────────────────────────────────────


def through(gate: Gate, threads: int, visit: Callable[[], None]) -> None:
    def pass_through() -> None:
        with gate.passed():
            visit()

    visitors = [threading.Thread(target=pass_through) for _ in range(threads)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()


def test_no_more_calls_are_in_flight_than_allowed() -> None:
    inside, most, lock = 0, 0, threading.Lock()

    def visit() -> None:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        time.sleep(0.01)
        with lock:
            inside -= 1

    through(Gate(ModelOptions(concurrency=2)), 8, visit)
    assert most <= 2


def test_calls_begin_no_closer_together_than_the_rate_allows() -> None:
    began: list[float] = []
    before = time.monotonic()
    through(Gate(ModelOptions(calls_per_minute=1200)), 5, lambda: began.append(time.monotonic()))
    assert [at - before >= 0.05 * place for place, at in enumerate(sorted(began))] == [True] * 5


def test_a_provider_that_asks_to_be_left_alone_is_left_alone_by_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "dummy")
    busy = HttpReply("slow down", status=429, headers={"Retry-After": "1"})
    with ScriptedEndpoint(lambda prompt: busy if len(endpoint.calls) == 1 else "text") as endpoint:
        model = ApiModel("openai/s", options=ModelOptions(backoff_seconds=0.0, api_base=endpoint.base_url))
        model.ask(KERNEL)
        (first, second) = (call.at for call in endpoint.calls)
    assert second - first >= 1


# ── Retry-After ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        (" 0.5 ", 0.5),
        ("Sat, 21 Nov 2026 12:00:30 GMT", 30.0),
        ("Sat, 21 Nov 2026 13:00:30 +0100", 30.0),
        ("Saturday, 21-Nov-26 12:01:00 GMT", 60.0),
        ("Sat Nov 21 12:02:00 2026", 120.0),
        ("Sat, 21 Nov 2026 11:59:00 GMT", 0.0),
        ("soon", None),
        ("", None),
        ("-3", None),
        ("inf", None),
    ],
)
def test_a_retry_after_holds_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after(value, datetime(2026, 11, 21, 12, 0, tzinfo=UTC)) == seconds
