"""Questions for kernels to models that can build: what is asked, stored, counted and paid for, and what is built."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import treesearch
from tests.archive.conftest import Samples
from tests.steps import scripted
from treesearch import policies, problem
from treesearch.archive import Archive
from treesearch.errors import LimitReached, ModelUnavailable
from treesearch.evaluation import device
from treesearch.evaluation.elsewhere import Elsewhere
from treesearch.evaluation.evaluator import Evaluator
from treesearch.evaluation.target import protocol
from treesearch.events import silent
from treesearch.languages import CPP, CUDA, LANGUAGES
from treesearch.meter import Meter
from treesearch.models import MOST_BUILDS, ApiModel, Model, ModelOptions, Pool
from treesearch.prompts import workbench
from treesearch.records import Answer, Budget, Price, Request, Spending, Stage, Usage
from treesearch.steps.equip import equip
from treesearch.steps.task import Task, failures_kept
from treesearch.testing import Call, HttpReply, ScriptedEndpoint, ScriptedEvaluator, ScriptedModel, building
from treesearch.view import answerers

MODEL = "openai/gpt-5.1"
PRICE = Price(MODEL, 0.0, 100.0)
WRITTEN = 1000
"""Tokens of each call here, which then costs $0.10."""
NO_KEY = HttpReply("no such key", status=401)


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    with scripted.settings():
        yield


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "a.db") as archive:
        yield archive


def billed(reply: str | HttpReply) -> HttpReply:
    return replace(HttpReply(reply) if isinstance(reply, str) else reply, usage=(10, WRITTEN))


@contextmanager
def endpoint(*replies: str | HttpReply) -> Iterator[ScriptedEndpoint]:
    """Gives the replies in turn, the last one for ever."""
    remaining = [billed(reply) for reply in replies]
    with ScriptedEndpoint(lambda _: remaining.pop(0) if len(remaining) > 1 else remaining[0]) as found:
        yield found


def of_task(archive: Archive, at: str, *, budget: Budget | None = None, others: Sequence[Model] = ()) -> Task:
    """A run of which one question is asked, of a model at an address; its evaluator builds by a word."""
    samples = Samples()
    model = ApiModel(
        MODEL,
        options=ModelOptions(backoff_seconds=0.001, attempts=2, api_base=at),
        on_failure=failures_kept(archive, MODEL, silent),
    )
    run = samples.open(archive)
    spent = archive.answers(run.id), archive.open_turns(run.id)
    return Task(
        run=run,
        problem=samples.problem,
        language=CUDA,
        device=samples.device,
        models=Pool([model, *others], [model, *others]),
        policy=policies.fastest,
        archive=archive,
        evaluator=scripted.evaluator(),
        meter=Meter(budget, [PRICE], max_tokens=WRITTEN, counted=spent[0], unanswered=spent[1]),
    )


def request_of(task: Task, ordinal: str = "0") -> Request:
    return task.request(0, Stage.KERNEL, "", ordinal, "Write a kernel.")


def ask(task: Task, ordinal: str = "0") -> Answer:
    return task.ask(request_of(task, ordinal), 0, (), equip)


def offered(calls: Sequence[Call]) -> list[bool | None]:
    """Of each call, whether the tool might be called; None where it was not even named."""
    return [call.parameters.get("tool_choice") != "none" if "tools" in call.parameters else None for call in calls]


# ── one question ────────────────────────────────────────────────────────────────────────────────


def test_an_answer_is_stored_with_its_turns_its_help_and_all_that_it_took(archive: Archive) -> None:
    with endpoint(building(scripted.BROKEN), building(scripted.RIGHT), "the kernel") as at:
        task = of_task(archive, at.base_url)
        answer = ask(task)
        assert ask(task) == answer, "what is stored is not asked again"
    assert (answer.text, answer.help, len(at.calls)) == ("the kernel", "build tool, 2 builds", 3)
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (30, 3 * WRITTEN)
    assert answer.usage.cost_usd == pytest.approx(0.3)
    turns = archive.turns(request_of(task).id)
    assert answer.seconds is not None
    assert answer.seconds > sum(turn.seconds or 0.0 for turn in turns) > 0.0
    assert [turn.usage for turn in turns] == [Usage(10, WRITTEN, 0.1)] * 2
    assert [turn.reports[0].partition(":")[0] for turn in turns] == ["It does not build", "It builds"]
    assert "error: 'gone' was not declared" in turns[0].reports[0]
    ((put, _),) = archive.answers(task.run.id)
    assert put.prompt == at.calls[0].prompt == f"Write a kernel.\n{workbench(CUDA, MOST_BUILDS)}"
    spent = archive.spend(task.run.id)
    assert (spent.answers, spent.output_tokens) == (1, 3 * WRITTEN)
    assert spent.cost_usd == pytest.approx(0.3)


def test_what_turns_took_is_estimated_again_where_nobody_counted_it(archive: Archive) -> None:
    """A budget must not grow by a kill, though the prompts that turns were answers to are not stored with them."""
    replies = [replace(reply, usage=None) for reply in (building("x" * 3500), HttpReply("the kernel"))]
    with ScriptedEndpoint(lambda _: replies.pop(0)) as at:
        task = of_task(archive, at.base_url)
        assert ask(task).usage == Usage()
    (turn,) = archive.open_turns(task.run.id)
    again = of_task(archive, at.base_url, budget=Budget(tokens=1000))
    assert turn.usage == Usage()
    with pytest.raises(LimitReached, match="of 1,000 tokens are used"):
        ask(again, "1")


def test_only_who_can_call_tools_is_told_of_one(archive: Archive) -> None:
    other = ScriptedModel("other", lambda request: request.prompt)
    with endpoint(NO_KEY) as at:
        answer = ask(of_task(archive, at.base_url, others=[other]))
    assert (answer.model, answer.text, answer.help) == ("other", "Write a kernel.", "")


def test_a_module_is_compiled_on_import_so_there_is_no_tool_for_it(archive: Archive) -> None:
    with endpoint("the module") as at:
        ask(replace(of_task(archive, at.base_url), language=LANGUAGES["module"]))
    assert offered(at.calls) == [None]


@pytest.mark.compiler
@pytest.mark.untimed
def test_a_source_is_built_with_the_flags_of_the_problem_and_what_is_said_of_it_goes_back(
    archive: Archive, tmp_path: Path
) -> None:
    subject, here = problem.load(str(scripted.write_problem(tmp_path))), device.cpu()
    judge = Evaluator(subject, CPP, protocol(subject, 3.0, here), here)
    broken, right = scripted.source(scripted.BROKEN), scripted.source()
    with endpoint(building(broken, right), "the kernel") as at:
        ask(replace(of_task(archive, at.base_url), language=CPP, evaluator=judge))
    failed, built = (one["content"] for one in at.calls[-1].messages if one["role"] == "tool")
    assert failed.startswith("It does not build: g++ ")
    assert "was not declared in this scope" in failed
    assert built.startswith("It builds: g++ ")
    assert "instructions:" in built
    assert judge.build(right).record.cached, "as an answer it is built already"


def test_where_nothing_can_be_built_no_tool_is_offered(archive: Archive) -> None:
    unknown = replace(Samples.device, architecture="")
    judge = Elsewhere(Samples.problem, CUDA, protocol(Samples.problem, 3.0, unknown), unknown)
    with endpoint("the kernel") as at:
        assert ask(replace(of_task(archive, at.base_url), evaluator=judge)).help == ""
    assert offered(at.calls) == [None]


# ── budgets ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("dollars", "told"),
    [
        (0.15, [None]),
        (0.25, [True, False]),
        (0.35, [True, True, False]),
        (9.0, [True] * MOST_BUILDS + [False]),
    ],
)
def test_a_model_builds_as_long_as_its_answer_can_be_paid_for_as_well(
    archive: Archive, dollars: float, told: list[bool | None]
) -> None:
    def reply(_: str) -> HttpReply:
        return billed(building("x") if offered(at.calls)[-1] else "the kernel")

    with ScriptedEndpoint(reply) as at:
        task = of_task(archive, at.base_url, budget=Budget(usd=dollars))
        assert ask(task).text == "the kernel"
    assert offered(at.calls) == told
    assert (archive.spend(task.run.id).cost_usd or 0.0) < dollars


def test_a_question_in_flight_leaves_room_for_the_calls_of_another(archive: Archive) -> None:
    """Of $0.45, the first has used $0.10 and has $0.20 in flight; the second then has an answer alone."""
    begun, other = threading.Event(), list[Answer]()

    def reply(prompt: str) -> HttpReply:
        if prompt.startswith("It builds"):
            begun.set()
            second.join(60)
        return billed("the kernel" if prompt.startswith("It builds") or not offered(at.calls)[-1] else building("x"))

    def ask_later() -> None:
        assert begun.wait(60)
        other.append(ask(task, "1"))

    with ScriptedEndpoint(reply) as at:
        task = of_task(archive, at.base_url, budget=Budget(usd=0.45))
        second = threading.Thread(target=ask_later)
        second.start()
        first = ask(task)
    assert (first.help, [one.help for one in other]) == ("build tool, 1 build", [""])
    assert archive.spend(task.run.id).cost_usd == pytest.approx(0.3)


def test_turns_that_led_to_no_answer_count_when_a_run_goes_on(archive: Archive) -> None:
    with endpoint(building("x"), NO_KEY) as at, pytest.raises(ModelUnavailable):
        ask(of_task(archive, at.base_url))
    with endpoint("the kernel") as at:
        task = of_task(archive, at.base_url, budget=Budget(usd=0.25))
        assert ask(task).help == "build tool, 1 build"
    assert offered(at.calls) == [False], "there is room for an answer alone"
    assert archive.spend(task.run.id) == Spending(1, 0, 20, 2 * WRITTEN, 0.2)


# ── going on ────────────────────────────────────────────────────────────────────────────────────


def test_what_was_said_before_a_failure_is_not_asked_for_again(archive: Archive) -> None:
    with endpoint(building(scripted.RIGHT), NO_KEY) as at, pytest.raises(ModelUnavailable):
        ask(of_task(archive, at.base_url))
    with endpoint("the kernel") as at:
        answer = ask(of_task(archive, at.base_url))
    assert (answer.help, answer.usage.output_tokens) == ("build tool, 1 build", 2 * WRITTEN)
    assert [one["role"] for one in at.calls[0].messages] == ["user", "assistant", "tool"]


def test_a_process_that_is_killed_in_a_conversation_loses_the_call_in_flight_alone(tmp_path: Path) -> None:
    asked = threading.Event()

    def reply(prompt: str) -> HttpReply:
        if len(at.calls) == 2:
            asked.set()
            return replace(billed("too late"), delay_seconds=600.0)
        return billed("the kernel" if prompt.startswith("It builds") else building("x"))

    with ScriptedEndpoint(reply) as at:
        script = f"from tests.steps.test_equip import question; question({str(tmp_path / 'a.db')!r}, {at.base_url!r})"
        root = Path(__file__).resolve().parents[2]
        with subprocess.Popen([sys.executable, "-c", script], cwd=root) as process:
            try:
                assert asked.wait(120)
            finally:
                process.kill()
        answer = question(tmp_path / "a.db", at.base_url)
    assert (answer.text, answer.help, len(at.calls)) == ("the kernel", "build tool, 1 build", 3)
    assert [len(call.messages) for call in at.calls] == [1, 3, 3]
    with Archive(tmp_path / "a.db") as archive:
        run = archive.latest_run()
        assert run is not None
        assert len(archive.answers(run.id)) == 1
        assert archive.spend(run.id) == Spending(1, 0, 20, 2 * WRITTEN, 0.2)


def question(path: str | Path, at: str) -> Answer:
    with Archive(path) as archive:
        return ask(of_task(archive, at))


# ── a whole search ──────────────────────────────────────────────────────────────────────────────


def built_first(prompt: str) -> str | HttpReply:
    """Builds what it then answers; second implementations do not compile, their repairs do."""
    if prompt.startswith("It builds"):
        return scripted.fenced(scripted.source())
    if prompt.startswith("It does not build"):
        return scripted.fenced(scripted.source(scripted.BROKEN))
    if scripted.is_ideas(prompt):
        return scripted.ideas(prompt)
    fails = scripted.variant(prompt) == 2 and not scripted.is_repair(prompt)
    return building(scripted.source(scripted.BROKEN if fails else scripted.RIGHT))


def test_kernels_and_repairs_are_asked_for_with_a_tool_and_ideas_without(tmp_path: Path) -> None:
    with ScriptedEndpoint(built_first) as at:
        result = treesearch.search(
            scripted.write_problem(tmp_path),
            models=[MODEL],
            rounds=1,
            ideas=1,
            implementations=2,
            beam=2,
            language="cpp",
            options=ModelOptions(api_base=at.base_url),
            archive=tmp_path / "a.db",
            evaluator=ScriptedEvaluator(scripted.verdict),
        )
    shown = scripted.typed("show", result.winner.kernel.id, "--builds", "--archive", tmp_path / "a.db", cwd=tmp_path)
    assert shown.stdout.startswith(f"## {MODEL}, message 1\n\n```\n{scripted.source()}")
    assert "It builds: scripted" in shown.stdout
    with Archive(tmp_path / "a.db") as archive:
        stored = archive.answers(result.run.id)
        by = answerers.tallies(result.lineage.entries, archive.authors(result.run.id))
    assert {request.stage: given.help for request, given in stored} == {
        Stage.IDEAS: "",
        Stage.KERNEL: "build tool, 1 build",
        Stage.REPAIR: "build tool, 1 build",
    }
    assert all(("## Your tool" in request.prompt) == (request.stage is not Stage.IDEAS) for request, _ in stored)
    assert {(one.help, one.stage) for one in by} == {
        ("build tool, 1 build", Stage.KERNEL),
        ("build tool, 1 build", Stage.REPAIR),
    }
