"""The machine that has the device: bundles judged with little installed, and crashes that cost one kernel at most."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.steps import away, scripted
from treesearch import work
from treesearch.errors import MachineError, UsageError
from treesearch.evaluation import bundle, device, results
from treesearch.evaluation.build import Built
from treesearch.evaluation.evaluator import Evaluator
from treesearch.records import Device, Purpose, Status, codec

pytestmark = [pytest.mark.compiler, pytest.mark.untimed]

ABSENT = ("numpy", "litellm", "sqlalchemy", "alembic", "click", "rich", "psycopg")
"""What treesearch needs elsewhere, but not to judge a bundle."""
TORCHS_OWN = ("networkx", "jinja2")
"""What torch brings for itself, and treesearch must not need here."""
BLOCKED = f"""
import runpy, sys
from importlib.machinery import PathFinder

def importer():
    frame = sys._getframe(2)
    while "importlib" in frame.f_globals["__name__"]:
        frame = frame.f_back
    return frame.f_globals["__name__"].split(".")[0]

class Poor(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        top = name.split(".")[0]
        if top in {ABSENT} or (top in {TORCHS_OWN} and importer() == "treesearch"):
            return None
        return PathFinder.find_spec(name, path, target)

sys.meta_path = [Poor if finder is PathFinder else finder for finder in sys.meta_path]
runpy.run_module("treesearch.work", run_name="__main__", alter_sys=True)
"""
HANGING = scripted.source('extern "C" int launch(const float*, const float*, float*, void*) { for (;;); }\n')


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    with scripted.settings():
        yield


def silently(path: Path, output: Path | None = None, *, any_device: bool = False) -> work.Worked:
    return work.work(path, output, any_device=any_device, say=lambda line: None)


def broken(count: int) -> list[str]:
    """Kernels whose verdicts cost a failed build each."""
    return [scripted.source(scripted.BROKEN, f"number {number}") for number in range(count)]


def statuses(worked: work.Worked) -> dict[str, Status]:
    return {verdict.kernel: verdict.evaluation.status for verdict in worked.verdicts}


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "treesearch.work", *map(str, words)]


def test_a_bundle_is_judged_where_only_torch_and_a_compiler_are_installed(tmp_path: Path) -> None:
    path = away.packed(tmp_path, [scripted.source(), scripted.source(scripted.WRONG), *broken(1)])
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, str(path), "--device", str(tmp_path / "here.json")],
        cwd=tmp_path,
        env=scripted.environment(PYTHONPATH=str(Path(work.__file__).parents[1])),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert codec.decode(Device, json.loads((tmp_path / "here.json").read_text())) == device.local("cpu")
    first, *lines, last = done.stdout.splitlines()
    assert first.startswith(device.cpu().name)
    assert {line.split()[0] for line in lines} == {"1/3", "2/3", "3/3"}
    told = {line.split()[1]: line.split(maxsplit=2)[2] for line in lines}
    assert told["k0"].startswith("verified ")
    assert " ms " in told["k0"]
    assert told["k0"].endswith("× eager") or told["k0"].endswith("× compile")
    assert told["k1"].startswith("wrong: ")
    assert told["k2"].startswith("build failed: ")
    assert last.startswith("3 verdicts (")
    assert " s: " in last
    found = results.read(bundle.results_of(path))
    assert {verdict.kernel: str(verdict.evaluation.status) for verdict in found.verdicts} == {
        "k0": "verified",
        "k1": "wrong",
        "k2": "build_failed",
    }
    assert all(verdict.evaluation.created for verdict in found.verdicts)


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT])
def test_a_worker_that_is_stopped_loses_the_kernel_in_hand_alone(tmp_path: Path, by: signal.Signals) -> None:
    path = away.packed(tmp_path, [*broken(2), HANGING, scripted.source()])
    target = bundle.results_of(path)
    with subprocess.Popen(command(path), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as worker:
        while worker.poll() is None and (not target.exists() or target.read_text().count("\n") < 3):
            time.sleep(0.01)
        worker.send_signal(by)
        assert worker.wait(30) == (130 if by is signal.SIGINT else -by)
    before = target.read_bytes()
    kept = before.count(b"\n") - 1
    assert 2 <= kept < 4, "the turn of the hanging one comes with its build, before or after that of others"
    done = silently(path)
    assert target.read_bytes().startswith(before), "what was on disk is not judged again"
    assert done.fresh == 4 - kept
    verdicts = {"k0": "build_failed", "k1": "build_failed", "k2": "timed_out", "k3": "verified"}
    assert statuses(done) == verdicts
    assert len(results.read(target).verdicts) == 4
    again = silently(path)
    assert again.fresh == 0
    assert again.verdicts == done.verdicts


@pytest.mark.parametrize("purpose", [None, Purpose.FINAL])
def test_what_judging_takes_is_made_ready_while_kernels_are_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, purpose: Purpose | None
) -> None:
    made_ready = threading.Event()
    prepare, build = Evaluator.prepare, Evaluator.build

    def prepared(self: Evaluator) -> None:
        prepare(self)
        made_ready.set()

    def built(self: Evaluator, source: str) -> Built:
        assert made_ready.wait(60), "nothing was made ready before a kernel was built"
        return build(self, source)

    monkeypatch.setattr(Evaluator, "prepare", prepared)
    monkeypatch.setattr(Evaluator, "build", built)
    path = away.packed(tmp_path, [scripted.source()])
    bundle.write(path, replace(bundle.read(path), purpose=purpose).text)
    assert set(statuses(silently(path)).values()) <= {"verified", "suspect"}


class TestResuming:
    def test_lines_that_are_cut_damaged_or_foreign_are_judged_again(self, tmp_path: Path) -> None:
        path, other = away.packed(tmp_path, broken(3)), tmp_path / "other"
        other.mkdir()
        foreign = silently(away.packed(other, broken(4))).results.read_text().splitlines(keepends=True)[1]
        target = silently(path).results
        header, first, second, third = target.read_text().splitlines(keepends=True)
        target.write_text(header + first + second.replace("wrong", "right").replace('"seed":0', '"seed":1') + foreign)
        with open(target, "a") as file:
            file.write(third[:-40])
        done = silently(path)
        assert done.fresh == 2
        assert target.read_text().startswith(header + first)
        assert set(statuses(done)) == {"k0", "k1", "k2"}
        assert len(results.read(target).verdicts) == 3

    @pytest.mark.parametrize("kept", [0, 10])
    def test_a_file_that_ends_in_its_header_is_begun_anew(self, tmp_path: Path, kept: int) -> None:
        path = away.packed(tmp_path, broken(1))
        target = silently(path).results
        target.write_text(target.read_text()[:kept])
        assert silently(path).fresh == 1

    @pytest.mark.parametrize("content", ["my notes", "my notes\n", "{}\n", "\n"])
    def test_another_file_is_not_overwritten(self, tmp_path: Path, content: str) -> None:
        path, target = away.packed(tmp_path, broken(1)), tmp_path / "notes.txt"
        target.write_text(content)
        with pytest.raises(UsageError, match="will not be overwritten"):
            silently(path, target)
        assert target.read_text() == content

    def test_results_of_another_bundle_are_not_overwritten(self, tmp_path: Path) -> None:
        target = silently(away.packed(tmp_path, broken(1))).results
        content = target.read_bytes()
        with pytest.raises(UsageError, match="results of another bundle or device"):
            silently(away.packed(tmp_path, broken(2)), target)
        assert target.read_bytes() == content

    def test_two_workers_do_not_write_one_file(self, tmp_path: Path) -> None:
        path = away.packed(tmp_path, [HANGING])
        with subprocess.Popen(command(path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as one:
            while one.poll() is None and not bundle.results_of(path).exists():
                time.sleep(0.01)
            with pytest.raises(MachineError, match="already being written by another process"):
                silently(path)
            one.kill()


class TestDevice:
    def test_a_bundle_for_another_device_is_refused_with_both_names(self, tmp_path: Path) -> None:
        path = away.packed(tmp_path, broken(1), name="A finer CPU")
        with pytest.raises(
            UsageError, match=rf"for A finer CPU \(.*\), and this is {re.escape(device.cpu().name)} \(.*any-device"
        ):
            silently(path)
        assert not bundle.results_of(path).exists()

    def test_results_from_any_device_name_the_real_one(self, tmp_path: Path) -> None:
        done = silently(away.packed(tmp_path, broken(1), name="A finer CPU"), any_device=True)
        assert results.read(done.results).header.device.id == device.cpu().id
        assert done.verdicts[0].evaluation.device == device.cpu().id


class TestCommand:
    def worked(self, folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command(*words), cwd=folder, env=os.environ, capture_output=True, text=True, check=False)

    def test_what_it_refuses_is_one_sentence_and_2(self, tmp_path: Path) -> None:
        done = self.worked(tmp_path, "gone.json")
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1] == "Error: Cannot read gone.json: No such file or directory."
        assert self.worked(tmp_path).returncode == 2

    def test_what_a_kernel_makes_the_compiler_say_does_not_steer_the_terminal(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = away.packed(tmp_path, [scripted.source('#error "\x1b[2J\x9b31m\u202egone"\n')])
        assert work.main([str(path)]) == 0
        said = capsys.readouterr().out
        assert "gone" in said
        assert all(character.isprintable() or character == "\n" for character in said)
