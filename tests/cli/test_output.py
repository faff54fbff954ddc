"""What commands print: data on standard output, the rest on standard error, and nothing that steers a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.steps import scripted
from treesearch.archive import Archive
from treesearch.cli.doctor import cuda_finding
from treesearch.evaluation import SPINS
from treesearch.records import Status
from treesearch.testing import ScriptedEndpoint

pytestmark = [pytest.mark.compiler, pytest.mark.untimed]

CHECKOUT = Path(__file__).parents[2]
FIELDS = {"status", "milliseconds", "eager_milliseconds", "compile_milliseconds", "speedup", "error"}
HOSTILE = "\x1b[2J\x9b31m\x07\u202e"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class Ran:
    folder: Path
    words: tuple[object, ...]
    endpoint: ScriptedEndpoint
    done: subprocess.CompletedProcess[str]


def hostile(prompt: str) -> str:
    """Like `mixed`, with terminal escapes in sources, in what the compiler says, and around ideas."""
    answer = scripted.mixed(prompt).replace("gone;", f'0; }}\n#error "{HOSTILE}gone"\nvoid f() {{')
    return answer.replace("// ", f"// {HOSTILE} ").replace("Thinking.", HOSTILE)


@pytest.fixture(scope="module", autouse=True)
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    folder = tmp_path_factory.mktemp("ran")
    with scripted.settings(), ScriptedEndpoint(hostile) as endpoint:
        model = ("--model", "openai/s", "--api-base", endpoint.base_url)
        counts = ("--rounds", 1, "--ideas", 1, "--implementations", 2, "--beam", 2)
        words = ("run", scripted.write_problem(folder), *model, *counts)
        yield Ran(folder, words, endpoint, scripted.typed(*words, cwd=folder))


def parsed(done: subprocess.CompletedProcess[str], code: int = 0) -> Any:
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


class TestRun:
    def test_progress_is_plain_lines_on_standard_error(self, ran: Ran) -> None:
        assert ran.done.returncode == 0, ran.done.stderr
        lines = ran.done.stderr.splitlines()
        assert lines[0].startswith("run ")
        assert "round 0 of 1: first kernels" in lines
        assert [line for line in lines if re.match(r"  0\.0 +verified +[0-9.]+ ms  [0-9.]+× eager", line)]
        assert [line for line in lines if re.match(r"  0\.1 +build failed +kernel.cpp:\d+:\d+: error: ", line)]
        assert [line for line in lines if line.startswith("  idea 0  Vectorize")]

    def test_it_ends_with_trajectory_baselines_the_winners_path_and_the_next_command(self, ran: Ran) -> None:
        lines = ran.done.stdout.splitlines()
        assert lines[1].split() == ["round", "time", "%", "of", "reference", "idea", "kernel"]
        figures = [line for line in lines if "· eager " in line and "· torch.compile " in line]
        assert [line.split()[0] for line in figures] == ["final", "when"], (
            "the verdict's figures come after the final ones"
        )
        path = next(line.removeprefix("kernel: ") for line in lines if line.startswith("kernel: "))
        assert "launch(" in (ran.folder / path).read_text()
        assert (ran.folder / path).with_name("problem.h").exists()
        following = next(line.removeprefix("next:   treesearch ") for line in lines if line.startswith("next: "))
        assert scripted.typed(*following.split(), cwd=ran.folder).returncode == 0

    def test_the_same_command_asks_nothing_and_prints_the_same_winner(self, ran: Ran) -> None:
        calls = len(ran.endpoint.calls)
        again = scripted.typed(*ran.words, cwd=ran.folder)
        assert again.returncode == 0
        assert again.stdout == ran.done.stdout
        assert "; continuing with " in again.stderr
        assert len(ran.endpoint.calls) == calls

    def test_json_is_all_that_standard_output_holds(self, ran: Ran) -> None:
        found = parsed(scripted.typed(*ran.words, "--json", cwd=ran.folder))
        assert found["winner"].keys() >= FIELDS
        assert found["winner"]["status"] == "verified"
        assert (ran.folder / found["path"]).exists()
        assert {kernel["status"] for kernel in found["kernels"]} == {"verified", "build_failed", "wrong"}

    def test_it_waits_with_75_and_lists_the_answers_that_are_due(self, ran: Ran, tmp_path: Path) -> None:
        words = ("run", ran.words[1], "--model", f"file/{tmp_path / 'box'}", "--rounds", 0, "--beam", 2)
        done = scripted.typed(*words, cwd=tmp_path)
        assert done.returncode == 75
        assert done.stdout == ""
        *paths, last = [line.strip() for line in done.stderr.splitlines()][-3:]
        assert all(path.endswith(".answer.md") and Path(path).parent == tmp_path / "box" for path in paths)
        assert last.startswith("Waiting: 2 answers are due.")


class TestReading:
    def test_show_prints_the_latest_run_and_its_json_has_the_same_fields(self, ran: Ran) -> None:
        shown = parsed(scripted.typed("show", "--json", cwd=ran.folder))
        assert shown["winner"].keys() >= FIELDS
        assert shown.keys() >= {"floor_milliseconds", "floor_bound"}
        assert shown["device"].keys() >= {"architecture", "bandwidth", "rates", "software"}
        assert parsed(scripted.typed("show", shown["run"], "--json", cwd=ran.folder)) == shown
        printed = scripted.typed("show", cwd=ran.folder).stdout
        assert all(kernel["kernel"] in printed for kernel in shown["kernels"])
        judged = {one["stage"]: one["judged"] for one in shown["answerers"]}
        assert judged.keys() == {"kernel", "repair"}
        assert sum(judged.values()) == len(shown["kernels"])
        assert "a repair" in printed

    def test_show_prints_a_kernel_by_the_beginning_of_its_id(self, ran: Ran) -> None:
        winner = parsed(scripted.typed("show", "--json", cwd=ran.folder))["winner"]
        kernel = parsed(scripted.typed("show", winner["kernel"][:10], "--json", cwd=ran.folder))
        assert kernel.keys() >= FIELDS | {"source", "resources", "floor_milliseconds"}
        assert kernel["resources"] == [], "g++ says nothing of device functions"
        assert kernel["kernel"] == winner["kernel"]

    def test_trajectory_leads_from_the_first_round_to_the_winner(self, ran: Ran) -> None:
        steps = parsed(scripted.typed("trajectory", "--json", cwd=ran.folder))
        assert steps[0]["round"] == 0
        assert steps[0]["parent"] is None
        assert all(step.keys() >= FIELDS | {"reference_percent", "idea", "kernel"} for step in steps)
        table = scripted.typed("trajectory", "--markdown", cwd=ran.folder).stdout
        assert table.count("\n|") == len(steps) + 2
        assert scripted.typed("trajectory", cwd=ran.folder).returncode == 0

    def test_problems_and_doctor_speak_json(self, ran: Ran) -> None:
        listed = parsed(scripted.typed("problems", "--json", cwd=ran.folder))
        assert {"bias_silu_clamp", "softmax_small"} <= {problem["name"] for problem in listed}
        checked = parsed(scripted.typed("problems", "check", ran.words[1], "--json", cwd=ran.folder))
        assert set(checked["mutants"].values()) == {"rejected"}
        findings = json.loads(scripted.typed("doctor", "--json", cwd=ran.folder).stdout)
        assert {"what", "ok", "found"} == findings[0].keys()
        named = {finding["what"]: finding for finding in findings}
        assert named["compiler for C++17 with OpenMP"]["ok"] is True
        assert (named["GPU"]["ok"] is None) == ("without a GPU" in named["CUDA kernels"]["found"])

    def test_a_reader_who_leaves_early_gets_no_traceback(self, ran: Ran) -> None:
        words = " ".join(f"'{word}'" for word in scripted.command("show", "--json"))
        done = subprocess.run(
            ["bash", "-c", f"{words} | head -c 1"],
            cwd=ran.folder,
            env=scripted.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout == "{"
        assert "Traceback" not in done.stderr


class TestEvaluate:
    def test_one_object_a_file_in_order_and_1_unless_all_are_verified(self, ran: Ran, tmp_path: Path) -> None:
        sources = {"good.cpp": scripted.RIGHT, "wrong.cpp": scripted.WRONG, "broken.cpp": scripted.BROKEN}
        for name, body in sources.items():
            (tmp_path / name).write_text(scripted.source(body))
        done = scripted.typed("evaluate", ran.words[1], *sources, "--json", cwd=tmp_path)
        assert done.returncode == 1
        verdicts = [json.loads(line) for line in done.stdout.splitlines()]
        assert [verdict["file"] for verdict in verdicts] == list(sources)
        assert [verdict["status"] for verdict in verdicts] == ["verified", "wrong", "build_failed"]
        assert all(verdict.keys() >= FIELDS for verdict in verdicts)
        good, wrong, broken = verdicts
        assert good["error"] is None
        best = min(good["eager_milliseconds"], good["compile_milliseconds"])
        assert good["speedup"] == pytest.approx(best / good["milliseconds"], rel=0.5)
        assert wrong["milliseconds"] is wrong["speedup"] is None
        assert "gone" in broken["error"]


class TestHostileText:
    @pytest.mark.parametrize("form", [(), ("--json",)])
    def test_nothing_that_steers_a_terminal_is_printed(self, ran: Ran, form: tuple[str, ...]) -> None:
        with Archive(ran.folder / ".treesearch/archive.db") as store:
            run = store.latest_run()
            assert run is not None
            entries = store.entries(run.id)
        assert "\x1b" in (entries[0].kernel.source or ""), "the record holds what the model wrote"
        failed = [entry for entry in entries if entry.evaluation and entry.evaluation.status is Status.BUILD_FAILED]
        assert failed
        shown = [scripted.typed("show", entry.kernel.id, *form, cwd=ran.folder) for entry in (entries[0], failed[0])]
        shown += [scripted.typed(command, *form, cwd=ran.folder) for command in ("show", "trajectory")]
        for done in (*shown, ran.done):
            assert done.returncode == 0
            assert not CONTROL.findall(done.stdout + done.stderr)


class TestTerminal:
    def test_a_live_view_shows_round_ideas_stages_best_and_spend(self, ran: Ran, tmp_path: Path) -> None:
        screen = on_a_terminal(scripted.command(*ran.words, "--new"), tmp_path)
        assert "round 0/1" in screen
        assert re.search(r"round 1/1 · 1 idea · .*\d (asked|building|queued|judging)", screen)
        best = r"best 0\.\d+ ms, [0-9.]+× eager, [0-9.]+× compile(, \d+ % of the floor's speed)?"
        assert re.search(rf"{best} · [\d,]+ tokens, unpriced · \d+ s", screen)
        assert "kernel: .treesearch/winners/" in screen


def on_a_terminal(command: list[str], folder: Path) -> str:
    """What a command writes to a terminal, without the sequences that move the cursor or colour the text."""
    controller, terminal = pty.openpty()
    env = scripted.environment(TERM="xterm-256color")
    process = subprocess.Popen(command, cwd=folder, env=env, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    written, deadline = b"", time.monotonic() + 90
    while select.select([controller], [], [], max(deadline - time.monotonic(), 0))[0]:
        try:
            written += os.read(controller, 1 << 16)
        except OSError:  # the last of those who wrote has closed it
            break
    os.close(controller)
    process.kill()
    assert process.wait() == 0, written.decode()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.decode())


@pytest.mark.parametrize(
    ("gpu", "compiler", "torch_sees_gpu", "ok", "said"),
    [
        (True, True, True, True, "are built, verified and timed here"),
        (True, False, True, False, "cannot run here without nvcc"),
        (True, True, False, False, "cannot run here without a torch that can use the GPU"),
        (False, True, False, None, "can be built here, and judged where a GPU is"),
        (False, False, False, None, "cannot run here without a GPU with NVIDIA's driver and nvcc"),
    ],
)
def test_doctor_says_in_words_what_cuda_kernels_lack(
    gpu: bool, compiler: bool, torch_sees_gpu: bool, ok: bool | None, said: str
) -> None:
    _, state, detail = cuda_finding(gpu, compiler, torch_sees_gpu)
    assert state is ok
    assert said in detail


def test_help_imports_nothing_heavy() -> None:
    heavy = ("torch", "sqlalchemy", "litellm", "rich", "numpy", "networkx", "jinja2", "alembic")
    code = (
        "import sys; from treesearch.cli import execute; assert execute(['--help']) == 0; "
        f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    for command in ("run", "problems", "evaluate", "show", "trajectory", "doctor"):
        assert f"  {command} " in done.stdout


@pytest.mark.parametrize(
    "begin",
    [
        "from treesearch.cli import main; sys.argv = ['', 'problems', 'check', 'softmax_small']; main()",
        "import treesearch.work",
        "import treesearch.audit.__main__",
        "import treesearch; treesearch.evaluate",
        "import benchmarks.agreement",
    ],
)
def test_idle_threads_of_torch_are_told_to_sleep_before_it_is_imported(begin: str) -> None:
    code = f"""
import os, sys
def look(event, arguments):
    if event == "import" and arguments[0] == "torch":
        os.write(1, os.environ["GOMP_SPINCOUNT"].encode())
        os._exit(0)
sys.addaudithook(look)
{begin}
import torch
"""
    for given, expected in (({}, SPINS), ({"GOMP_SPINCOUNT": "7"}, "7")):
        env = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"} | given
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        assert done.stdout == expected


def test_reading_the_shipped_record_leaves_the_checkout_as_it_was(tmp_path: Path) -> None:
    def state() -> tuple[bytes, list[str]]:
        beside = sorted(path.name for path in CHECKOUT.iterdir())
        return (CHECKOUT / "archive.db").read_bytes(), beside

    before = state()
    for words in (("show",), ("problems",), ("doctor",), ("trajectory",)):
        scripted.typed(*words, cwd=tmp_path)
    assert state() == before
    assert list(tmp_path.iterdir()) == []
