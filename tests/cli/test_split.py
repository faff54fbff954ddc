"""The commands of a search that is split over two machines, and the document that tells of them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.steps import away, scripted
from treesearch.cli import treesearch
from treesearch.evaluation import bundle, device
from treesearch.records import Device, codec

pytestmark = [pytest.mark.compiler, pytest.mark.untimed]

DOCUMENT = Path(__file__).parents[2] / "docs" / "remote-gpu.md"
COMMANDS = re.findall(r"^(?:gpu|search)\$ +treesearch (.*)$", DOCUMENT.read_text(), re.MULTILINE)


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    with scripted.settings():
        yield


def refusal(folder: Path, *words: object, code: int = 2) -> str:
    done = scripted.typed(*words, cwd=folder)
    assert (done.returncode, done.stdout) == (code, "")
    return done.stderr.splitlines()[-1]


class TestDevice:
    def test_the_description_is_one_that_run_takes(self, tmp_path: Path) -> None:
        done = scripted.typed("device", "--kind", "cpu", "-o", "d.json", cwd=tmp_path)
        assert done.returncode == 0
        assert done.stdout.startswith(f"{device.cpu().id}  {device.cpu().name}, {device.cores()} core")
        assert codec.decode(Device, json.loads((tmp_path / "d.json").read_text())) == device.cpu()
        words = ("run", scripted.write_problem(tmp_path), "--model", "file/box", "--device", "d.json")
        assert scripted.typed(*words, cwd=tmp_path).returncode == 75

    def test_json_describes_without_writing(self, tmp_path: Path) -> None:
        done = scripted.typed("device", "--kind", "cpu", "--json", cwd=tmp_path)
        assert json.loads(done.stdout)["id"] == device.cpu().id
        assert list(tmp_path.iterdir()) == []

    def test_a_device_that_nobody_knows_is_refused_before_anything_is_asked(self, tmp_path: Path) -> None:
        words = ("run", scripted.write_problem(tmp_path), "--model", "file/box", "--device", "B200")
        assert "No device is known by 'B200'" in refusal(tmp_path, *words)
        assert not (tmp_path / "box").exists()

    def test_a_device_of_the_archive_is_known_by_a_part_of_its_name(self, tmp_path: Path) -> None:
        path = away.write_device(tmp_path, away.target(name="Another CPU"))
        words = ("run", scripted.write_problem(tmp_path), "--model", "file/box", "--beam", 1, "--device")
        first = scripted.typed(*words, path, cwd=tmp_path)
        again = scripted.typed(*words, "another", cwd=tmp_path)
        assert first.returncode == again.returncode == 75
        assert again.stderr.splitlines()[0] == first.stderr.splitlines()[0], "it is the same run"


class TestEvaluate:
    @pytest.fixture
    def sent(self, tmp_path: Path) -> Path:
        """The bundle of two files for a device that is elsewhere."""
        goal = away.write_device(tmp_path, away.target(name="Another CPU"))
        (tmp_path / "good.cpp").write_text(scripted.source())
        (tmp_path / "bad one.cpp").write_text(scripted.source(scripted.BROKEN))
        words = ("evaluate", scripted.write_problem(tmp_path), "good.cpp", "bad one.cpp", "--device", goal)
        done = scripted.typed(*words, cwd=tmp_path)
        assert done.returncode == 75
        assert done.stderr.splitlines()[-1].startswith("Waiting: 2 kernels are to be judged on Another CPU")
        [path] = (tmp_path / bundle.FOLDER).iterdir()
        assert f"treesearch work {path.name}" in done.stderr
        return path

    def test_files_travel_and_their_verdicts_are_printed(self, tmp_path: Path, sent: Path) -> None:
        worked = scripted.typed("work", sent, "--any-device", "-o", "back.jsonl", cwd=tmp_path)
        assert worked.returncode == 0, worked.stderr
        assert [line.split()[0] for line in worked.stdout.splitlines()[:2]] == ["1/2", "2/2"]
        table = scripted.typed("absorb", "back.jsonl", cwd=tmp_path)
        assert table.returncode == 1, "not all are verified"
        assert [line.split()[0] for line in table.stdout.splitlines()].count("good.cpp") == 1
        objects = scripted.typed("absorb", "back.jsonl", "--json", cwd=tmp_path).stdout.splitlines()
        verdicts = {found["file"]: found["status"] for found in map(json.loads, objects)}
        assert verdicts == {"good.cpp": "verified", "bad one.cpp": "build_failed"}

    def test_work_refuses_what_is_not_for_this_device(self, tmp_path: Path, sent: Path) -> None:
        assert "The bundle is for Another CPU" in refusal(tmp_path, "work", sent)
        assert "-o names the results of one bundle" in refusal(tmp_path, "work", sent, sent, "-o", "x")


class TestAbsorb:
    def test_a_file_that_is_absent_or_something_else_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "notes.txt").write_text("my notes")
        assert refusal(tmp_path, "absorb", "gone.jsonl").startswith("Error: Cannot read gone.jsonl")
        assert refusal(tmp_path, "absorb", "notes.txt").startswith("Error: Cannot take notes.txt as results: ")

    def test_verdicts_of_a_run_are_counted_and_new_once(self, tmp_path: Path) -> None:
        goal = away.write_device(tmp_path, away.target(name="Another CPU"))
        counts = ("--rounds", 0, "--beam", 1, "--device", goal)
        words = ("run", scripted.write_problem(tmp_path), "--model", "file/box", *counts)
        scripted.typed(*words, cwd=tmp_path)
        scripted.write_answers(tmp_path / "box")
        scripted.typed(*words, cwd=tmp_path)
        [path] = (tmp_path / bundle.FOLDER).iterdir()
        scripted.typed("work", path, "--any-device", "-o", "back.jsonl", cwd=tmp_path)
        assert "was judged on" in refusal(tmp_path, "absorb", "back.jsonl")
        away.rewritten(tmp_path / "back.jsonl", as_if_there)
        first, again = (scripted.typed("absorb", "back.jsonl", cwd=tmp_path) for _ in range(2))
        assert first.stderr.splitlines()[-1].endswith("on scaled_relu: 1 verdict, 1 of them new")
        assert again.stderr.splitlines()[-1].endswith("1 verdict, 0 of them new")
        done = scripted.typed(*words, cwd=tmp_path)
        assert done.returncode == 75
        assert done.stderr.splitlines()[-1].startswith("Waiting: 1 kernel is to be measured again on Another CPU")


def as_if_there(line: int, found: dict[str, object]) -> None:
    """Make a results file say that it comes from the target: commands cannot pretend to be another machine."""
    described = away.target(name="Another CPU")
    if line == 0:
        found["device"] = codec.encode(described)
    else:
        evaluation = found["evaluation"]
        assert isinstance(evaluation, dict)
        evaluation["device"] = described.id


def test_the_document_shows_every_command_of_a_split_search() -> None:
    assert {line.split()[0] for line in COMMANDS} == {"device", "run", "work", "absorb", "evaluate"}


@pytest.mark.parametrize("line", sorted(set(COMMANDS)))
def test_commands_of_the_document_parse(line: str) -> None:
    name, *arguments = shlex.split(line)
    found = treesearch.get_command(click.Context(treesearch), name)
    assert found is not None
    found.make_context(name, arguments)
