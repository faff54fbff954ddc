"""What a user gets for bad input: one sentence that says what to do, the right exit code, and no lost work."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from tests.steps import scripted
from treesearch import resources
from treesearch.archive import Archive
from treesearch.testing import HttpReply, ScriptedEndpoint

pytestmark = [pytest.mark.compiler, pytest.mark.untimed]

SMALL = ("--rounds", 0, "--beam", 1, "--repairs", 0)
UNREACHABLE = "http://127.0.0.1:9/v1"
GOES_ON = "No kernel was verified: 1 build_failed"
"""What a search ends with whose only answer does not compile: it takes no time to get there."""


def useless(prompt: str) -> str:
    return scripted.fenced(scripted.source(scripted.BROKEN))


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    return scripted.write_problem(tmp_path)


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    with scripted.settings():
        yield


def fails(folder: Path, *words: object, code: int = 1, **variables: str) -> str:
    """Run a command that must fail with one sentence; returns that sentence."""
    done = scripted.typed(*words, cwd=folder, **variables)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1, done.stderr
    assert done.stderr.splitlines()[-1] == errors[0]
    return errors[0].removeprefix("Error: ")


@dataclass(frozen=True)
class Slow:
    """Commands that give up only after a while, which they spend beside the other tests."""

    folder: Path
    words: tuple[object, ...]
    unreachable: subprocess.Popen[str]
    locked: subprocess.Popen[str]

    def ended(self, process: subprocess.Popen[str]) -> str:
        """The sentence a command failed with."""
        _, err = process.communicate(timeout=90)
        assert process.returncode == 1, err
        assert "Traceback" not in err
        return err.splitlines()[-1].removeprefix("Error: ")


@pytest.fixture(scope="module", autouse=True)
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slow]:
    folder = tmp_path_factory.mktemp("slow")
    words = ("run", scripted.write_problem(folder), "--model", "openai/s", *SMALL)
    Archive(folder / "locked.db").close()
    holder = sqlite3.connect(folder / "locked.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with (
        scripted.settings(),
        background(folder, *words, OPENAI_API_BASE=UNREACHABLE) as unreachable,
        background(folder, *words, "--archive", "locked.db") as locked,
    ):
        yield Slow(folder, words, unreachable, locked)
    holder.close()


class TestNames:
    def test_an_unknown_problem_names_the_closest(self, tmp_path: Path) -> None:
        assert "Did you mean softmax_small?" in fails(tmp_path, "run", "softmax_smal", "--model", "file/x", code=2)

    def test_a_problem_file_that_is_not_there(self, tmp_path: Path) -> None:
        assert "no problem file nowhere.py" in fails(tmp_path, "problems", "check", "nowhere.py", code=2)

    def test_an_unknown_provider(self, tmp_path: Path, problem: Path) -> None:
        said = fails(tmp_path, "run", problem, "--model", "opnai/gpt", code=2)
        assert "opnai" in said
        assert "openai" in said

    @pytest.mark.parametrize("model", ["file/", "openai/", ""])
    def test_half_a_model_string(self, tmp_path: Path, problem: Path, model: str) -> None:
        assert "name" in fails(tmp_path, "run", problem, "--model", model, code=2)

    def test_a_missing_key_is_named(self, tmp_path: Path, problem: Path) -> None:
        assert "set OPENAI_API_KEY" in fails(tmp_path, "run", problem, "--model", "openai/s", OPENAI_API_KEY="")

    def test_a_recording_that_is_not_there(self, tmp_path: Path, problem: Path) -> None:
        assert "nothing.db" in fails(tmp_path, "run", problem, "--model", "replay/nothing.db")
        assert not (tmp_path / "nothing.db").exists()

    def test_a_record_without_answers_about_the_problem(self, tmp_path: Path, problem: Path) -> None:
        said = fails(tmp_path, "run", problem, OPENAI_API_KEY="")
        assert "holds no answers about scaled_relu" in said
        assert "--model" in said

    @pytest.mark.parametrize("command", ["show", "trajectory"])
    def test_an_id_that_no_run_or_kernel_has(self, tmp_path: Path, command: str) -> None:
        assert "starts with 'zzz'" in fails(tmp_path, command, "zzz", code=2)

    def test_an_archive_to_show_that_is_not_there(self, tmp_path: Path) -> None:
        fails(tmp_path, "show", "--archive", "none.db")
        assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("run",),
        ("run", "softmax_small", "--rounds", "-1"),
        ("run", "softmax_small", "--ideas", "0"),
        ("run", "softmax_small", "--beam", "many"),
        ("run", "softmax_small", "--deadline", "0"),
        ("run", "softmax_small", "--deadline", "inf"),
        ("run", "softmax_small", "--deadline", "nan"),
        ("run", "softmax_small", "--timeout", "inf"),
        ("run", "softmax_small", "--effort", "huge"),
        ("run", "softmax_small", "--model", "file/x", "--policy", "luck"),
        ("run", "softmax_small", "--model", "file/x", "--language", "fortran"),
        ("run", "softmax_small", "--dry-run", "--policy", "luck"),
        ("config", "--language", "fortran"),
        ("run", "softmax_small", "--nonsense"),
        ("walk", "softmax_small"),
        ("evaluate", "softmax_small"),
        ("trajectory", "--markdown", "--json"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_what_is_wrong(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = scripted.typed(*words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Error: " in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert not (tmp_path / ".treesearch").exists() or not list((tmp_path / ".treesearch").glob("winners"))


def test_a_mistyped_command_is_told_which_one_is_close(tmp_path: Path) -> None:
    said = scripted.typed("trajctory", cwd=tmp_path).stderr
    assert said.endswith("Error: No such command 'trajctory'. Did you mean 'trajectory'?\n")
    assert "Did you mean" not in scripted.typed("qqqq", cwd=tmp_path).stderr


class TestFiles:
    def test_a_kernel_file_that_is_not_there(self, tmp_path: Path, problem: Path) -> None:
        assert "Cannot read gone.cpp: No such file" in fails(tmp_path, "evaluate", problem, "gone.cpp", code=2)

    def test_a_suffix_that_names_no_language(self, tmp_path: Path, problem: Path) -> None:
        (tmp_path / "kernel.f90").write_text("end")
        said = fails(tmp_path, "evaluate", problem, "kernel.f90", code=2)
        assert "f90" in said
        assert ".cpp" in said

    def test_a_reference_that_raises_quotes_it_without_its_escapes(self, tmp_path: Path) -> None:
        path = scripted.write_problem(tmp_path, "bad")
        path.write_text(scripted.PROBLEM.replace("return torch.relu", "raise ValueError('\\x1b[2Jno luck')\n        #"))
        said = fails(tmp_path, "run", path, "--model", "openai/s", code=2)
        assert "no luck" in said
        assert "\x1b" not in said

    def test_debug_shows_the_traceback(self, tmp_path: Path) -> None:
        done = scripted.typed("run", "gone.py", "--model", "file/x", "--debug", cwd=tmp_path)
        assert done.returncode == 2
        assert "Traceback" in done.stderr


class TestMachine:
    def test_without_a_compiler_it_says_how_to_get_one(self, tmp_path: Path, problem: Path) -> None:
        (tmp_path / "empty").mkdir()
        said = fails(tmp_path, "run", problem, "--model", "openai/s", PATH=str(tmp_path / "empty"))
        assert "no compiler" in said
        assert "g++" in said

    def test_an_archive_in_a_place_where_nothing_can_be_written(self, tmp_path: Path, problem: Path) -> None:
        said = fails(tmp_path, "run", problem, "--model", "openai/s", "--archive", "/proc/none/a.db")
        assert "/proc/none" in said

    def test_a_cache_in_a_place_where_nothing_can_be_written(self, tmp_path: Path, problem: Path) -> None:
        said = fails(tmp_path, "run", problem, "--model", "openai/s", TREESEARCH_CACHE="/proc/none")
        assert "TREESEARCH_CACHE" in said

    def test_an_answers_folder_in_a_place_where_nothing_can_be_written(self, tmp_path: Path, problem: Path) -> None:
        assert "cannot create /proc/none" in fails(tmp_path, "run", problem, "--model", "file//proc/none")

    def test_a_full_disk_under_the_archive(self, tmp_path: Path, problem: Path) -> None:
        with small_disk(tmp_path / "disk") as disk, ScriptedEndpoint(useless) as endpoint:
            model = ("--model", "openai/s", "--api-base", endpoint.base_url)
            words = ("run", problem, *model, *SMALL, "--archive", disk / "a.db")
            filling = disk / "filling"
            fill(filling)
            assert "disk is full" in fails(tmp_path, *words)
            filling.unlink()
            assert GOES_ON in fails(tmp_path, *words)

    def test_a_full_disk_under_the_cache(self, tmp_path: Path, problem: Path) -> None:
        with small_disk(tmp_path / "disk") as disk, ScriptedEndpoint(useless) as endpoint:
            (disk / "locks").mkdir()
            fill(disk / "filling")
            words = ("run", problem, "--model", "openai/s", "--api-base", endpoint.base_url, *SMALL)
            assert "full" in fails(tmp_path, *words, TREESEARCH_CACHE=str(disk))
            assert len(endpoint.calls) == 1
            assert GOES_ON in fails(tmp_path, *words)
            assert len(endpoint.calls) == 1, "the answer that was paid for was stored"


class TestArchives:
    def test_one_of_a_later_version(self, tmp_path: Path, problem: Path) -> None:
        Archive(tmp_path / "a.db").close()
        with sqlite3.connect(tmp_path / "a.db") as connection:
            connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.close()
        said = fails(tmp_path, "run", problem, "--model", "openai/s", "--archive", "a.db")
        assert "newer treesearch; upgrade" in said

    @pytest.mark.parametrize("command", [("show",), ("trajectory",), ("run", "softmax_small", "--model", "file/x")])
    def test_a_file_that_is_none(self, tmp_path: Path, command: tuple[str, ...]) -> None:
        (tmp_path / "a.db").write_bytes(b"\x00garbage\xff" * 999)
        assert "no treesearch archive" in fails(tmp_path, *command, "--archive", "a.db")
        assert (tmp_path / "a.db").read_bytes() == b"\x00garbage\xff" * 999

    def test_a_run_that_another_process_works_on(self, tmp_path: Path, problem: Path) -> None:
        with ScriptedEndpoint(lambda prompt: HttpReply(scripted.right(prompt), delay_seconds=30)) as endpoint:
            words = ("run", problem, "--model", "openai/s", "--api-base", endpoint.base_url, *SMALL)
            with background(tmp_path, *words) as first:
                until(lambda: len(endpoint.calls) == 1)
                assert "already going on in another process" in fails(tmp_path, *words)
                first.kill()
            assert len(endpoint.calls) == 1

    def test_an_ambiguous_id_names_those_it_could_be(self, tmp_path: Path, problem: Path) -> None:
        with ScriptedEndpoint(lambda prompt: "nothing") as endpoint:
            model = ("--model", "openai/s", "--api-base", endpoint.base_url)
            fails(tmp_path, "run", problem, *model, "--rounds", 0, "--beam", 9)
        with Archive(tmp_path / ".treesearch/archive.db") as store:
            run = store.latest_run()
            assert run is not None
            ids = sorted(entry.kernel.id for entry in store.entries(run.id))
        assert len(ids) == 18, "more than there are hexadecimal digits"
        with Archive(resources.record(), read_only=True) as record:  # ids are looked for there as well
            of_runs = {each.id[0] for each in (run, *record.runs())}
        shared = next(one[0] for one, two in pairwise(ids) if one[0] == two[0] and one[0] not in of_runs)
        said = fails(tmp_path, "show", shared, code=2)
        assert "more than one kernel" in said
        assert all(one in said for one in ids if one.startswith(shared))


class TestEndpoints:
    def test_one_that_is_down_and_the_same_command_once_it_is_up(self, slow: Slow) -> None:
        said = slow.ended(slow.unreachable)
        assert said.startswith(f"cannot reach {UNREACHABLE} for openai/s")
        assert "the same command goes on" in said
        with ScriptedEndpoint(useless) as endpoint:
            assert GOES_ON in fails(slow.folder, *slow.words, OPENAI_API_BASE=endpoint.base_url)
            assert len(endpoint.calls) == 1
        with Archive(slow.folder / ".treesearch/archive.db") as store:
            runs = store.runs()
            assert len(runs) == 1
            failed = store.failed_asks(runs[0].id)
        assert [ask.model for ask in failed] == ["openai/s"] * 4

    def test_one_that_refuses_the_key_in_words_with_escapes(self, tmp_path: Path, problem: Path) -> None:
        with ScriptedEndpoint(lambda prompt: HttpReply("\x1b[31mno such key\x9b2J", status=401)) as endpoint:
            words = ("run", problem, "--model", "openai/s", "--api-base", endpoint.base_url, *SMALL)
            said = fails(tmp_path, *words)
        assert "refuses the key" in said
        assert "\x1b" not in said
        assert "\x9b" not in said

    @pytest.mark.parametrize("garbage", ["no code", "```cpp\n```", "{" * 5000, "\x00\x1b]0;title\x07 launch("])
    def test_answers_that_are_never_usable(self, tmp_path: Path, problem: Path, garbage: str) -> None:
        with ScriptedEndpoint(lambda prompt: garbage) as endpoint:
            words = ("run", problem, "--model", "openai/s", "--api-base", endpoint.base_url, "--beam", 1)
            said = fails(tmp_path, *words)
            assert "Not one of 2 answers" in said
            assert "try another model" in said
            assert fails(tmp_path, *words) == said
            assert len(endpoint.calls) == 2, "what was answered is not asked again"


class TestInterrupted:
    def test_ctrl_c_exits_with_130_and_the_same_command_goes_on(self, tmp_path: Path, problem: Path) -> None:
        slow = {"seconds": 30.0}

        def reply(prompt: str) -> HttpReply:
            return HttpReply(useless(prompt), delay_seconds=slow["seconds"] * (scripted.variant(prompt) - 1))

        with ScriptedEndpoint(reply) as endpoint:
            model = ("--model", "openai/s", "--api-base", endpoint.base_url)
            words = ("run", problem, *model, "--rounds", 0, "--beam", 2, "--repairs", 0)
            with background(tmp_path, *words) as process:
                until(lambda: len(scripted.requests_of(tmp_path / ".treesearch/archive.db")) == 1)
                process.send_signal(signal.SIGINT)
                _, err = process.communicate(timeout=10)
            assert process.returncode == 130, err
            assert "Traceback" not in err
            assert err.splitlines()[-1].startswith("Interrupted; nothing that was stored is lost.")
            slow["seconds"] = 0.0
            assert "No kernel was verified: 2 build_failed" in fails(tmp_path, *words)
            assert len(endpoint.calls) == 3, "only the answer in flight was asked for again"


class TestLast:
    """What takes longest to give up."""

    def test_an_archive_that_another_process_holds(self, slow: Slow) -> None:
        assert "locked by another process" in slow.ended(slow.locked)


# ── surroundings ────────────────────────────────────────────────────────────────────────────────


@contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    place.mkdir()
    tool = shutil.which("mount")
    if os.geteuid() != 0 or tool is None:
        pytest.skip("only root can mount a small disk to fill up")
    mounted = subprocess.run([tool, "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(path: Path) -> None:
    """Write until nothing more fits."""
    with open(path, "wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)) == 4096:
                pass
        except OSError:
            return


@contextmanager
def background(folder: Path, *words: object, **variables: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        scripted.command(*words),
        cwd=folder,
        env=scripted.environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def until(true: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.05)
