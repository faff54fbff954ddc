"""kill -9 of a search at any moment, and the same command again: nothing stored is lost or asked for twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.steps import scripted
from treesearch.archive import Archive
from treesearch.records import RunState, digest
from treesearch.testing import HttpReply, ScriptedEndpoint

pytestmark = pytest.mark.compiler

KILLS = 10
ROUNDS = 2
LONGEST_ANSWER = 2.5
SECONDS_TO_VANISH = 3.0


@dataclass(frozen=True)
class Moment:
    """So many seconds after the start, or after the first new question."""

    after: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s after its {self.after}"

    def comes(self, process: subprocess.Popen[bytes], asked: Callable[[], bool]) -> bool:
        """Wait for it; False where the process ended first."""
        while self.after == "question" and not asked() and process.poll() is None:
            time.sleep(0.02)
        try:
            process.wait(self.seconds)
        except subprocess.TimeoutExpired:
            return True
        return False


Rows = frozenset[tuple[object, ...]]


@dataclass
class Tally:
    """What happened over all kills."""

    kills: list[str] = field(default_factory=list)
    calls: int = 0
    answers: int = 0
    lost_in_flight: int = 0
    rows: list[int] = field(default_factory=list)


def rows(archive: Path) -> Rows:
    """Everything that a search stored, whole."""
    if not archive.exists():
        return frozenset()
    with Archive(archive) as store:
        run = store.latest_run()
        if run is None:
            return frozenset()
        entries = store.entries(run.id)
        return frozenset(
            [
                *(("answer", request, answer) for request, answer in store.answers(run.id)),
                *(("kernel", entry.kernel) for entry in entries),
                *(("verdict", entry.kernel.id, entry.evaluation) for entry in entries if entry.evaluation),
                *(("idea", proposal) for proposal in store.proposals(run.id)),
                *(("round", one) for one in store.rounds(run.id)),
                *(("edge", edge) for edge in store.edges(run.id)),
            ]
        )


def processes(mark: str) -> list[str]:
    """Command lines of the living processes that have `mark` in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:  # it is gone, or not ours to look at
            continue
    return found


def left_over(mark: str) -> list[str]:
    deadline = time.monotonic() + SECONDS_TO_VANISH
    while (found := processes(mark)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def test_killed_at_ten_moments_a_search_loses_nothing_and_asks_nothing_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], record_property: Callable[[str, object], None]
) -> None:
    chance = random.Random(20261121)
    problem, archive, tally = scripted.write_problem(tmp_path), tmp_path / "a.db", Tally()

    def reply(prompt: str) -> HttpReply:
        answer = distinct_ideas(prompt) if scripted.is_ideas(prompt) else scripted.mixed(prompt)
        # Once nobody kills it any more, nothing is gained by answers that take long.
        longest = LONGEST_ANSWER if len(tally.kills) < KILLS else 0.1
        return HttpReply(answer, delay_seconds=chance.uniform(0.05, longest))

    with ScriptedEndpoint(reply) as endpoint:
        counts = ("--rounds", ROUNDS, "--ideas", 3, "--implementations", 2, "--beam", 2)
        command = scripted.command(
            "run", problem, "--model", "openai/scripted", "--api-base", endpoint.base_url, "--archive", archive, *counts
        )
        while len(tally.kills) < KILLS:
            # Some while it starts or judges, the others while answers are on their way.
            after = "start" if len(tally.kills) % 4 == 1 else "question"
            moment = chance.uniform(0.3, 6.0) if after == "start" else chance.uniform(0.0, LONGEST_ANSWER)
            live(command, tmp_path, archive, endpoint, tally, Moment(after, moment))
        live(command, tmp_path, archive, endpoint, tally, None)

    with Archive(archive) as store:
        run = store.latest_run()
        assert run is not None
        assert run.state is RunState.DONE
        assert all(entry.evaluation for entry in store.entries(run.id))
        tally.answers = len(store.answers(run.id))
    assert tally.calls == tally.answers + tally.lost_in_flight
    assert len(set(tally.rows)) > KILLS // 2, "the kills came while things were being stored"
    assert tally.lost_in_flight > 0, "some of the kills came while answers were on their way"
    story = (
        f"{KILLS} kills ({', '.join(tally.kills)}): {tally.calls} requests, {tally.answers} answers stored, "
        f"{tally.lost_in_flight} in flight at a kill and asked again, rows after each start {tally.rows}, none lost"
    )
    record_property("resume", story)
    with capsys.disabled():
        print(f"\n{story}")


def live(
    command: list[str], folder: Path, archive: Path, endpoint: ScriptedEndpoint, tally: Tally, moment: Moment | None
) -> None:
    """One life of the search: killed at a moment, or left to finish."""
    stored, asked = rows(archive), len(endpoint.calls)
    answered = {request.prompt for request in scripted.requests_of(archive).values()} if archive.exists() else set()
    mark = f"{folder}/mark-{len(tally.rows)}"
    variables = scripted.environment(PATH=f"{os.environ['PATH']}:{mark}")
    with open(folder / "log.txt", "ab") as log:
        process = subprocess.Popen(command, cwd=folder, env=variables, stdout=log, stderr=log)
        if moment is not None and moment.comes(process, lambda: len(endpoint.calls) > asked):
            process.send_signal(signal.SIGKILL)
            tally.kills.append(str(moment))
        code = process.wait(120)
    assert left_over(mark) == []
    assert code in (0, -signal.SIGKILL), (folder / "log.txt").read_text()

    now = rows(archive)
    assert stored <= now, "a row that was stored is gone or has changed"
    prompts = Counter(call.prompt for call in endpoint.calls[asked:])
    assert not prompts.keys() & answered, "a question was asked whose answer was stored"
    assert not [prompt for prompt, times in prompts.items() if times > 1], "a question was asked twice in one go"
    after = {request.prompt for request in scripted.requests_of(archive).values()} if now else set()
    tally.calls += len(endpoint.calls) - asked
    tally.lost_in_flight += len(prompts.keys() - after)
    tally.rows.append(len(now))


def distinct_ideas(prompt: str) -> str:
    """Ideas that no other prompt brings, so that no two questions of the search are the same."""
    words = [digest(prompt, number)[:6] for number in range(40)]
    listed = [f'{{"title": "{words[n]}", "mechanism": "{" ".join(words[n * 10 : n * 10 + 10])}"}}' for n in range(4)]
    count = scripted.ideas(prompt).count('"title"')
    return f"```json\n[{', '.join(listed[:count])}]\n```"
