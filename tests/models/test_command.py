"""`cmd/COMMAND`: the prompt on standard input, the answer on standard output."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.steps import scripted
from treesearch.errors import ModelUnavailable, UnknownModel
from treesearch.models import CommandModel, Failure, ModelOptions, open_model
from treesearch.records import Request, Sampling, Stage, Usage

REQUEST = Request("run", 0, Stage.KERNEL, "problem", "", "0", "Größe ≤ 4?\n")
LONG = 120
ROOT = Path(__file__).resolve().parents[2]


def command(
    folder: Path, script: str, *, on_failure: Callable[[Failure], None] | None = None, **options: float
) -> CommandModel:
    """A model behind a shell script."""
    path = folder / "agent"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    given = ModelOptions(**{"backoff_seconds": 0.001, **options})  # type: ignore[arg-type]
    told = (lambda _, failure: on_failure(failure)) if on_failure else None
    return CommandModel(f"cmd/'{path}' --print", options=given, on_failure=told)


def gone(file: Path) -> bool:
    """Whether the process whose number is in a file is no more, or dies within a while."""
    pid = int(file.read_text())
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text():
            return True
        time.sleep(0.02)
    return False


def until(there: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONG
    while not there() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert there()


def test_a_program_reads_the_prompt_and_writes_the_answer(tmp_path: Path) -> None:
    model = command(tmp_path, 'echo "$1"; cat; echo aside >&2')
    answer = model.ask(REQUEST)
    assert answer.text == "--print\nGröße ≤ 4?\n"
    assert answer.model == model.name
    assert (answer.answered_by, answer.usage) == ("", Usage())
    assert answer.seconds is not None


def test_an_answer_may_say_who_gave_it_with_what_help(tmp_path: Path) -> None:
    answer = command(tmp_path, r"printf -- '---\nmodel: m 2\nhelp: g++\n---\ntext\n'").ask(REQUEST)
    assert (answer.answered_by, answer.help, answer.text) == ("m 2", "g++", "text\n")


def test_a_program_need_not_read_its_prompt(tmp_path: Path) -> None:
    long = Request("run", 0, Stage.KERNEL, "problem", "", "0", "x" * 1_000_000)
    assert command(tmp_path, "echo text").ask(long).text == "text\n"


def test_the_users_own_program_keeps_the_users_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_API_KEY", "sk-agent")
    assert command(tmp_path, "echo $AGENT_API_KEY").ask(REQUEST).text == "sk-agent\n"


def test_an_exit_code_is_told_with_the_end_of_what_was_complained_of(tmp_path: Path) -> None:
    told: list[Failure] = []
    script = "seq 1 1000 >&2; echo no credit >&2; exit 3"
    with pytest.raises(ModelUnavailable, match=r"gave no answer after 2 attempts.*exit code 3: .* 1000 no credit"):
        command(tmp_path, script, on_failure=told.append, attempts=2).ask(REQUEST)
    assert len(told) == 2
    assert len(str(told[0])) < 400


def test_a_program_that_is_killed_says_by_what(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="ended by SIGTERM"):
        command(tmp_path, "kill -TERM $$", attempts=1).ask(REQUEST)


def test_silence_is_no_answer_and_is_tried_again(tmp_path: Path) -> None:
    told: list[Failure] = []
    script = f"test -e {tmp_path}/again && echo text; touch {tmp_path}/again"
    assert command(tmp_path, script, on_failure=told.append).ask(REQUEST).text == "text\n"
    assert [str(failure) for failure in told] == ["empty answer"]


def test_an_answer_cut_off_within_its_code_is_asked_for_once_more(tmp_path: Path) -> None:
    told: list[Failure] = []
    script = f"echo asked >> {tmp_path}/log; printf '```cpp\\nint x'"
    assert command(tmp_path, script, on_failure=told.append).ask(REQUEST).text == "```cpp\nint x"
    assert (tmp_path / "log").read_text() == "asked\nasked\n"
    assert [failure.said.text for failure in told if failure.said] == ["```cpp\nint x"]


def test_at_the_deadline_everything_that_was_started_ends(tmp_path: Path) -> None:
    script = f"sleep {LONG} & echo $! > {tmp_path}/child; wait"
    with pytest.raises(ModelUnavailable, match=r"timeout: no answer within 5 s"):
        command(tmp_path, script, timeout_seconds=5, attempts=1).ask(REQUEST)
    assert gone(tmp_path / "child")


def test_closing_ends_what_runs_and_lets_nothing_start(tmp_path: Path) -> None:
    told: list[Failure] = []
    model = command(
        tmp_path,
        f"echo $$ > {tmp_path}/draft; mv {tmp_path}/draft {tmp_path}/pid; sleep {LONG}",
        on_failure=told.append,
    )
    raised: list[Exception] = []

    def ask() -> None:
        try:
            model.ask(REQUEST)
        except ModelUnavailable as error:
            raised.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    until((tmp_path / "pid").exists)
    model.close()
    asking.join()
    assert gone(tmp_path / "pid")
    with pytest.raises(ModelUnavailable, match="was stopped"):
        model.ask(REQUEST)
    assert "was stopped" in str(raised[0])
    assert told == [], "what we ended ourselves is no failure of the command"


def test_a_process_that_is_killed_takes_the_command_with_it(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    model = command(tmp_path, f"echo $$ > {pid}.draft; mv {pid}.draft {pid}; sleep {LONG}")
    ask = f"from tests.models.test_command import *; CommandModel({model.name!r}).ask(REQUEST)"
    with subprocess.Popen([sys.executable, "-c", ask], cwd=ROOT) as asking:
        until(pid.exists)
        asking.kill()
    assert gone(pid)


def test_a_program_that_cannot_be_run_says_why(tmp_path: Path) -> None:
    told: list[Failure] = []
    model = command(tmp_path, "", on_failure=told.append, attempts=1)
    (tmp_path / "agent").write_bytes(b"\x7fELF")
    with pytest.raises(ModelUnavailable, match="Exec format error"):
        model.ask(REQUEST)
    assert told


@pytest.mark.compiler
@pytest.mark.untimed
def test_ctrl_c_ends_the_command_with_the_search(tmp_path: Path) -> None:
    problem, pid = scripted.write_problem(tmp_path), tmp_path / "pid"
    command(tmp_path, f"echo $$ > {pid}.draft; mv {pid}.draft {pid}; sleep {LONG}")
    words = scripted.command("run", problem, "--model", f"cmd/{tmp_path}/agent", "--beam", 1, "--language", "cpp")
    with open(tmp_path / "log", "wb") as log:
        search = subprocess.Popen(words, cwd=tmp_path, env=scripted.environment(), stdout=log, stderr=log)
        until(pid.exists)
        search.send_signal(signal.SIGINT)
        assert search.wait(LONG) == 130, (tmp_path / "log").read_text()
    assert gone(pid)


@pytest.mark.parametrize(("name", "said"), [("cmd/", "names no command"), ("cmd/'x", "no command line")])
def test_a_string_that_holds_no_command_is_a_mistake_of_usage(name: str, said: str) -> None:
    with pytest.raises(UnknownModel, match=said):
        open_model(name, sampling=Sampling(), options=ModelOptions())


def test_a_command_that_does_not_exist_is_found_before_the_first_question() -> None:
    with pytest.raises(ModelUnavailable, match="there is no command no-such-agent"):
        CommandModel("cmd/no-such-agent -p").check()
