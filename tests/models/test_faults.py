"""Everything that a provider can do wrong, as docs/models.md says it: what is tried again, stored, and paid for."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import click
import pytest

import treesearch
from tests.archive.conftest import Samples
from tests.steps import scripted
from treesearch import answers, cli, policies
from treesearch.archive import Archive
from treesearch.errors import ModelUnavailable, NoUsableAnswer
from treesearch.events import silent
from treesearch.languages import CUDA
from treesearch.models import ApiModel, ModelOptions, Pool
from treesearch.records import Answer, Config, Request, Spending, Stage
from treesearch.steps.task import Judge, Task, failures_kept
from treesearch.testing import (
    FILTERED,
    HANG,
    MALFORMED,
    NO_CHOICES,
    REFUSAL,
    RESET,
    TOO_LONG,
    TRICKLE,
    HttpReply,
    ScriptedEndpoint,
    nobody_listens,
)

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "models.md"
ROW = re.compile(r"^\| (?!what|---)(?P<name>.+?) \| (?P<calls>\d) \| .*\|$", re.MULTILINE)
CODE = '```cuda\nextern "C" int launch(float* out) { return 0; }\n```\n'
STOPS, GOES_ON, ANSWERED = "run stops, exit code 1", "search goes on without it", "answered"

FAULTS: dict[str, tuple[HttpReply, ...]] = {
    "429": (HttpReply("slow down", status=429),),
    "429 with a short Retry-After": (HttpReply("slow down", status=429, headers={"Retry-After": "0.1"}),),
    "429 with a Retry-After beyond `--timeout`": (HttpReply("slow down", status=429, headers={"Retry-After": "3600"}),),
    "500": (HttpReply("oops", status=500),),
    "500, then an answer": (HttpReply("oops", status=500), HttpReply(CODE)),
    "connection refused": (),
    "connection reset": (RESET,),
    "hang": (HANG,),
    "a byte now and then": (TRICKLE,),
    "malformed JSON": (MALFORMED,),
    "200 without choices": (NO_CHOICES,),
    "empty content": (HttpReply(""),),
    "refusal": (REFUSAL,),
    "content filter": (FILTERED,),
    "content filter as an error": (HttpReply("Blocked by our usage policy.", status=400),),
    "answer cut off, then a whole one": (HttpReply(CODE[:-5], finish_reason="length"), HttpReply(CODE)),
    "code block never closed": (HttpReply(CODE[:-5]),),
    "two code blocks": (HttpReply(CODE + CODE.replace("return 0", "return 1")),),
    "answer of 2 MB": (HttpReply("Thinking.\n" * 200_000 + CODE),),
    "wrong key": (HttpReply("no such key", status=401),),
    "prompt too long": (TOO_LONG,),
    "prompt too long, not so with less history": (TOO_LONG, HttpReply(CODE)),
}


@pytest.fixture(scope="module", autouse=True)
def _settings() -> Iterator[None]:
    with scripted.settings():
        yield


@dataclass(frozen=True)
class Seen:
    """What came of one question."""

    attempts: int
    errors: tuple[str, ...]
    end: str
    usage: Spending
    answer: Answer | None

    def row(self, name: str) -> str:
        kinds = ", ".join(dict.fromkeys(f"`{error.partition(':')[0]}`" for error in self.errors)) or "–"
        billed = f"{self.usage.output_tokens // 7} ×" if self.usage.output_tokens else "–"
        return f"| {name} | {self.attempts} | {kinds} | {self.end} | {billed} |"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archive]:
    with Archive(tmp_path_factory.mktemp("faults") / "a.db") as archive:
        yield archive


def ask(archive: Archive, replies: tuple[HttpReply, ...]) -> Seen:
    """Put one question to an endpoint that gives the replies in turn, the last one for ever; to none without any."""
    remaining = list(replies)
    with ScriptedEndpoint(lambda _: remaining.pop(0) if len(remaining) > 1 else remaining[0]) as endpoint:
        patient = not any(reply in (HANG, TRICKLE) for reply in replies)
        options = ModelOptions(
            timeout_seconds=600.0 if patient else 0.3,
            backoff_seconds=0.001,
            api_base=endpoint.base_url if replies else nobody_listens(),
        )
        task, request = question(archive, "openai/scripted", options)
        try:
            answer = task.ask(request, 0, ["A shorter prompt."])
        except ModelUnavailable:
            end = STOPS
        else:
            end = GOES_ON if answer.failure else ANSWERED
    errors = tuple(failed.error for failed in archive.failed_asks(task.run.id))
    attempts = len(errors) + (end == ANSWERED)
    if replies and patient:
        assert len(endpoint.calls) == attempts, "no call is made that is not told of"
    return Seen(attempts, errors, end, archive.spend(task.run.id), archive.answer(request.id))


def question(archive: Archive, name: str, options: ModelOptions) -> tuple[Task, Request]:
    samples = Samples()
    model = ApiModel(name, options=options, on_failure=failures_kept(archive, name, silent))
    task = Task(
        run=samples.open(archive, new=True),
        problem=samples.problem,
        language=CUDA,
        device=samples.device,
        models=Pool([model], [model]),
        policy=policies.fastest,
        archive=archive,
        evaluator=cast(Judge, None),  # nothing is judged here
    )
    return task, task.request(0, Stage.KERNEL, "", "seed0.0", "Write a kernel.")


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_ends_as_the_document_says(archive: Archive, name: str) -> None:
    seen = ask(archive, FAULTS[name])
    assert seen.row(name) in DOCUMENT.read_text().splitlines()
    if seen.end == ANSWERED:
        assert seen.answer is not None
        assert answers.code(seen.answer.text, CUDA.fences, CUDA.entry) is not None
    if seen.end == GOES_ON:
        assert seen.answer is not None
        assert "openai/scripted" in seen.answer.failure


def test_the_document_has_no_other_rows() -> None:
    assert {match["name"] for match in ROW.finditer(DOCUMENT.read_text())} == FAULTS.keys()


@pytest.mark.parametrize("command", re.findall(r"^\$ treesearch (.*)$", DOCUMENT.read_text(), re.MULTILINE))
def test_the_documents_commands_parse(command: str) -> None:
    name, *words = shlex.split(command)
    found = cli.treesearch.get_command(click.Context(cli.treesearch), name)
    assert found is not None
    found.make_context(name, words)


def test_a_prompt_that_was_shortened_is_stored_as_it_was_answered(archive: Archive) -> None:
    ask(archive, (TOO_LONG, HttpReply(CODE)))
    run = archive.latest_run()
    assert run is not None
    ((request, _),) = archive.answers(run.id)
    assert request.prompt == "A shorter prompt."


# ── whole searches ──────────────────────────────────────────────────────────────────────────────


def search(folder: Path, endpoint: ScriptedEndpoint) -> None:
    """First kernels only, two of them; no answer holds code, so nothing is judged."""
    options = ModelOptions(backoff_seconds=0.001, concurrency=1, api_base=endpoint.base_url)
    config = Config(models=("openai/s",), rounds=0, beam=2, repairs=1)
    treesearch.search(
        scripted.write_problem(folder),
        models=config.models,
        rounds=config.rounds,
        beam=config.beam,
        language="cpp",
        archive=folder / "a.db",
        options=options,
    )


def stored(folder: Path) -> tuple[list[str], list[str]]:
    """Texts of the answers that were given, and errors of the attempts that failed."""
    with Archive(folder / "a.db", read_only=True) as archive:
        run = archive.latest_run()
        assert run is not None
        given = [answer.text for _, answer in archive.answers(run.id) if not answer.failure]
        return given, [failed.error for failed in archive.failed_asks(run.id)]


@pytest.mark.compiler
@pytest.mark.untimed
def test_a_key_that_is_revoked_on_the_way_stops_the_run_with_everything_kept(tmp_path: Path) -> None:
    revoked = HttpReply("the key was revoked", status=401)
    with ScriptedEndpoint(lambda _: "no code" if len(endpoint.calls) == 1 else revoked) as endpoint:
        for _ in range(2):
            with pytest.raises(ModelUnavailable, match=r"refuses the key .*revoked.*OPENAI_API_KEY"):
                search(tmp_path, endpoint)
            given, errors = stored(tmp_path)
            assert given == ["no code"]
            assert set(errors) == {"key refused: the key was revoked"}
        prompts = [call.prompt for call in endpoint.calls]
        assert prompts.count(prompts[0]) == 1, "what was answered is not asked again"


@pytest.mark.compiler
@pytest.mark.untimed
def test_a_question_that_is_refused_does_not_stop_the_run_at_it_each_time(tmp_path: Path) -> None:
    with ScriptedEndpoint(lambda prompt: REFUSAL if scripted.variant(prompt) == 2 else "no code") as endpoint:
        for _ in range(2):
            with pytest.raises(NoUsableAnswer, match="Not one of 3 answers"):
                search(tmp_path, endpoint)
            assert len(endpoint.calls) == 3, "two first kernels, and the repair of the one that was answered"
    with Archive(tmp_path / "a.db", read_only=True) as archive:
        run = archive.latest_run()
        assert run is not None
        verdicts = {entry.kernel.ordinal: entry.evaluation for entry in archive.entries(run.id)}
    refused = verdicts["0.1"]
    assert refused is not None
    assert refused.error.startswith("no answer: openai/s will not answer this question (I cannot help with that.)")


@pytest.mark.compiler
@pytest.mark.untimed
def test_a_run_whose_every_question_is_refused_says_why(tmp_path: Path) -> None:
    with (
        ScriptedEndpoint(lambda _: FILTERED) as endpoint,
        pytest.raises(NoUsableAnswer, match="Not one question was answered, the last one since openai/s will not"),
    ):
        search(tmp_path, endpoint)
