"""`suspect`, `clear`, and how `show` and `trajectory` tell of what they did."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.steps import scripted
from tests.view.test_hardware import EVALUATION, H100, NORM
from treesearch import resources
from treesearch.archive import Archive
from treesearch.records import Category, Config, Edge, Idea, Kernel, Label, Proposal, Relation, Run, Status

WHY = "it remembers\x1b[2J the answer"
SANDBOX = "namespaces (user, mount, net), Landlock 7, seccomp"


@pytest.fixture
def family(tmp_path: Path) -> list[str]:
    """Ids of the run, a kernel, and one that refines it; both verified."""
    with Archive(tmp_path / "archive.db") as archive:
        run = archive.open_run(NORM, Config(("file/x",), "cuda"), H100)
        parent = Kernel(run.id, 0, "0.0", "cuda", "// parent", "")
        idea = Idea("Tile it", Category.MEMORY, "Fewer reads.", 1.5, "none")
        proposal = Proposal(run.id, 1, 0, parent.id, "", idea)
        child = Kernel(run.id, 1, "0.0", "cuda", "// child", "", proposal)
        archive.save_proposals([proposal])
        archive.save_kernel(parent)
        archive.save_kernel(child, [Edge(parent.id, child.id, Relation.REFINES)])
        judged = replace(EVALUATION, device=H100.id, labels=(Label.ALGORITHMIC, Label.VARYING), sandbox=SANDBOX)
        archive.save_evaluation(parent.id, judged)
        archive.save_evaluation(child.id, judged)
    return [run.id, parent.id, child.id]


def typed(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return scripted.typed(*words, "--archive", "archive.db", cwd=folder)


def printed(folder: Path, *words: str) -> str:
    done = typed(folder, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def found(folder: Path, *words: str) -> Any:
    return json.loads(printed(folder, *words, "--json"))


def refusal(folder: Path, *words: str) -> str:
    done = typed(folder, *words)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


def test_labels_and_sandbox_of_a_verdict_are_shown(tmp_path: Path, family: list[str]) -> None:
    lines = printed(tmp_path, "show", family[1]).splitlines()
    assert "labels: algorithmic, varying" in lines
    assert f"sandbox: {SANDBOX}" in lines
    shown = found(tmp_path, "show", family[1])
    assert (shown["labels"], shown["sandbox"]) == (["algorithmic", "varying"], SANDBOX)
    assert (shown["standing"], shown["findings"]) == (None, [])


def test_a_suspect_takes_what_came_from_it_along(tmp_path: Path, family: list[str]) -> None:
    run, parent, _ = family
    done = typed(tmp_path, "suspect", parent[:6], "--reason", WHY)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines() == [
        f"Kernel {parent} is suspect now.",
        f"1 kernel of run {run} came from it and must be judged again: run the same treesearch run command.",
    ]
    whole = found(tmp_path, "show", run)
    assert whole["winner"] is None
    stands = [(one["status"], one["standing"]) for one in whole["kernels"]]
    assert stands == [("suspect", "suspect"), (None, "re-opened")]
    assert whole["kernels"][1]["standing_reason"] == f"{parent}, which it came from, was found suspect: {WHY}"
    table = printed(tmp_path, "show", run)
    assert "\x1b" not in table
    assert "suspect: it remembers\ufffd[2J the answer" in table
    assert f"re-opened: {parent}, which it came from, was found suspect" in table
    assert "winner" not in table


def test_a_path_shows_the_suspect_on_it(tmp_path: Path, family: list[str]) -> None:
    typed(tmp_path, "suspect", family[1], "--reason", "why not")
    for words in (("trajectory", family[2]), ("trajectory", family[2], "--markdown"), ("show", family[2])):
        written = printed(tmp_path, *words)
        assert "first kernel (suspect: why not)" in written
        assert "re-opened: " in written
    assert [step["standing"] for step in found(tmp_path, "trajectory", family[2])] == ["suspect", "re-opened"]
    assert "has no verified kernel yet" in refusal(tmp_path, "trajectory")


def test_clearing_gives_both_back_and_keeps_the_history(tmp_path: Path, family: list[str]) -> None:
    run, parent, _ = family
    typed(tmp_path, "suspect", parent, "--reason", "why not")
    done = typed(tmp_path, "clear", parent, "--reason", " I read it ")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        f"Kernel {parent} is cleared, and counts as verified.",
        f"Re-opened because of it, and standing again: 1 kernel of run {run}.",
    ]
    shown = found(tmp_path, "show", parent)
    assert (shown["status"], shown["standing"], shown["standing_reason"]) == ("verified", "cleared", "I read it")
    assert [(one["kind"], one["reason"], one["by"]) for one in shown["findings"]] == [
        ("suspect", "why not", "person"),
        ("cleared", "I read it", "person"),
    ]
    assert [one["status"] for one in shown["verdicts"]] == ["verified"]
    assert "found suspect by person" in printed(tmp_path, "show", parent)
    assert found(tmp_path, "show", run)["winner"] is not None


def test_a_verdict_of_suspect_can_be_cleared(tmp_path: Path, family: list[str]) -> None:
    with Archive(tmp_path / "archive.db") as archive:
        kernel = Kernel(family[0], 0, "0.1", "cuda", "// Strassen", "")
        archive.save_kernel(kernel)
        archive.save_evaluation(kernel.id, replace(EVALUATION, status=Status.SUSPECT, error="too fast"))
    assert found(tmp_path, "show", kernel.id)["status"] == "suspect"
    assert typed(tmp_path, "clear", kernel.id, "--reason", "Strassen").returncode == 0
    assert found(tmp_path, "show", kernel.id)["status"] == "verified"


class TestRefusals:
    @pytest.mark.parametrize("command", ["suspect", "clear"])
    def test_an_id_that_is_unknown_or_a_runs(self, tmp_path: Path, family: list[str], command: str) -> None:
        assert "No run or kernel has an id that starts with 'zz'" in refusal(tmp_path, command, "zz", "--reason", "x")
        said = refusal(tmp_path, command, family[0], "--reason", "x")
        assert f"{family[0]} is a run; name one of its kernels" in said

    def test_a_reason_that_is_absent_or_empty(self, tmp_path: Path, family: list[str]) -> None:
        assert "Missing option '--reason'" in refusal(tmp_path, "suspect", family[1])
        for empty in ("", " \n"):
            assert "Error: Say why with --reason" in refusal(tmp_path, "suspect", family[1], "--reason", empty)
        assert found(tmp_path, "show", family[1])["findings"] == []

    def test_a_kernel_that_stands_otherwise(self, tmp_path: Path, family: list[str]) -> None:
        _, parent, child = family
        assert "is verified, so there is nothing to clear" in refusal(tmp_path, "clear", parent, "--reason", "x")
        typed(tmp_path, "suspect", parent, "--reason", "why")
        said = refusal(tmp_path, "suspect", parent, "--reason", "x")
        assert "is suspect; only a verified one can turn out to be suspect" in said
        said = refusal(tmp_path, "clear", child, "--reason", "x")
        assert f"is not suspect, it is re-opened: {parent}, which it came from, was found suspect: why" in said

    def test_a_verdict_without_a_comparison(self, tmp_path: Path, family: list[str]) -> None:
        with Archive(tmp_path / "archive.db") as archive:
            kernel = Kernel(family[0], 0, "0.1", "cuda", "// quick", "")
            archive.save_kernel(kernel)
            doubted = replace(EVALUATION, status=Status.SUSPECT, error="too fast", accuracy=None)
            archive.save_evaluation(kernel.id, doubted)
        assert "its answers were never found right" in refusal(tmp_path, "clear", kernel.id, "--reason", "x")

    def test_a_kernel_of_the_shipped_record(self, tmp_path: Path) -> None:
        before = resources.record().read_bytes()
        run, kernel = recorded()
        for options in ((), ("--archive", str(resources.record()))):
            done = scripted.typed("suspect", kernel, "--reason", "x", *options, cwd=tmp_path)
            assert done.returncode == 2
            assert f"Kernel {kernel} is in the shipped record, which is only read." in done.stderr
            assert f"`treesearch publish {run.id} --archive {resources.record()}" in done.stderr
        assert resources.record().read_bytes() == before
        assert list(tmp_path.iterdir()) == []

    def test_what_the_refusal_says_to_do_works(self, tmp_path: Path) -> None:
        run, kernel = recorded()
        working, record = ".treesearch/archive.db", tmp_path / "record.db"
        words: tuple[object, ...] = ("publish", run.id, "--archive", resources.record(), "--into", working)
        assert scripted.typed(*words, cwd=tmp_path).returncode == 0
        assert scripted.typed("suspect", kernel, "--reason", "x", cwd=tmp_path).returncode == 0
        words = ("publish", run.id, "--archive", working, "--into", record)
        assert scripted.typed(*words, cwd=tmp_path).returncode == 0
        with Archive(record, read_only=True) as archive:
            assert [one.reason for one in archive.findings(kernel)] == ["x"]


def recorded() -> tuple[Run, str]:
    """A run of the shipped record and a verified kernel of it."""
    with Archive(resources.record(), read_only=True) as record:
        run = record.runs()[0]
        return run, next(entry.kernel.id for entry in record.entries(run.id) if entry.verified)
