"""The commands that only look: `tree`, `log`, `diff`, `compare`, `search`, on the record that ships."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.steps import scripted
from treesearch import resources
from treesearch.archive import Archive
from treesearch.lineage import Lineage
from treesearch.records import Entry, Status

RUNS = ("cccd2355", "d0c18d28", "05970509")


@pytest.fixture(scope="module")
def lineage() -> Lineage:
    with Archive(resources.record(), read_only=True) as record:
        return record.lineage("05970509")


@pytest.fixture
def winner(lineage: Lineage) -> Entry:
    found = lineage.fastest()
    assert found
    return found


def printed(folder: Path, *words: object) -> str:
    done = scripted.typed(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert list(folder.iterdir()) == [], "looking leaves nothing behind"
    return done.stdout


def parsed(folder: Path, *words: object) -> Any:
    return json.loads(printed(folder, *words, "--json"))


def refused(folder: Path, *words: object) -> str:
    done = scripted.typed(*words, cwd=folder)
    assert done.returncode == 2
    assert done.stdout == ""
    return done.stderr


def test_a_tree_has_a_line_for_every_kernel(tmp_path: Path, lineage: Lineage, winner: Entry) -> None:
    ids = {entry.kernel.id for entry in lineage.entries}
    shown = printed(tmp_path, "tree", "0597")
    assert all(id in shown for id in ids)
    whole = parsed(tmp_path, "tree", "0597")
    assert {one["kernel"] for one in whole["kernels"]} == ids
    assert whole["winning_line"][-1] == winner.kernel.id
    below = parsed(tmp_path, "tree", winner.kernel.id)
    assert below["kernels"][0]["kernel"] == winner.kernel.id
    assert len(parsed(tmp_path, "tree", "0597", "--depth", 1)["kernels"]) == len(lineage.roots())


def test_the_latest_run_is_drawn_where_none_is_named(tmp_path: Path) -> None:
    with Archive(resources.record(), read_only=True) as record:
        latest = record.latest_run()
    assert latest
    assert f"run {latest.id} " in printed(tmp_path, "tree")


def test_a_problems_name_stands_for_its_newest_run(tmp_path: Path) -> None:
    with Archive(resources.record(), read_only=True) as record:
        run = next(run for run in record.runs() if run.problem_name == "layernorm")
    assert printed(tmp_path, "trajectory", "layernorm") == printed(tmp_path, "trajectory", run.id)
    assert f"run {run.id} " in printed(tmp_path, "show", "layernorm")


def test_a_log_begins_with_why_a_kernel_failed(tmp_path: Path, lineage: Lineage) -> None:
    crashed = next(one for one in lineage.entries if one.evaluation and one.evaluation.status is Status.CRASHED)
    lines = printed(tmp_path, "log", crashed.kernel.id[:9]).splitlines()
    assert lines[0].startswith(f"{crashed.kernel.id}: crashed · layernorm, run 05970509")
    assert "an illegal instruction was encountered" in lines[1]
    assert lines[2].startswith("repaired by ")
    whole = parsed(tmp_path, "log", crashed.kernel.id)
    assert (whole["kernel"], whole["status"]) == (crashed.kernel.id, "crashed")
    assert [step["title"].split(" ")[0] for step in whole["steps"]][:4] == ["asked", "answered", "idea", "asked"]
    assert len(printed(tmp_path, "log", crashed.kernel.id, "--full")) > 100_000


def test_one_kernel_is_compared_with_its_parent_and_two_with_each_other(
    tmp_path: Path, lineage: Lineage, winner: Entry
) -> None:
    parent = lineage.parent(winner.kernel.id)
    assert parent
    alone = printed(tmp_path, "diff", winner.kernel.id)
    assert alone == printed(tmp_path, "diff", parent.kernel.id, winner.kernel.id)
    assert f"\n--- {parent.kernel.id}.cu\n+++ {winner.kernel.id}.cu\n@@" in alone
    assert "\x1b" not in alone
    whole = parsed(tmp_path, "diff", winner.kernel.id)
    assert (whole["old"]["source"], whole["new"]["source"]) == (parent.kernel.source, winner.kernel.source)
    backward = parsed(tmp_path, "diff", winner.kernel.id, parent.kernel.id)
    assert backward["new"]["kernel"] == parent.kernel.id


@pytest.mark.skipif(shutil.which("patch") is None, reason="no program called patch")
def test_what_diff_prints_patches_the_parent_into_the_kernel(tmp_path: Path, lineage: Lineage, winner: Entry) -> None:
    parent = lineage.parent(winner.kernel.id)
    assert parent
    assert parent.kernel.source
    shown = printed(tmp_path, "diff", winner.kernel.id)
    (tmp_path / "kernel.cu").write_text(parent.kernel.source)
    subprocess.run(["patch", "kernel.cu"], cwd=tmp_path, input=shown, text=True, check=True, capture_output=True)
    assert (tmp_path / "kernel.cu").read_text() == winner.kernel.source


def test_a_diff_needs_two_kernels_with_code(tmp_path: Path, lineage: Lineage) -> None:
    root = lineage.roots()[0].kernel.id
    assert "came from no other; name a second kernel" in refused(tmp_path, "diff", root)
    assert "05970509 is a run; name a kernel of it" in refused(tmp_path, "diff", "05970509")
    assert "05970509 is a run; name a kernel of it" in refused(tmp_path, "log", "05970509")
    assert "starts with ''" in refused(tmp_path, "diff", root, "")


def test_runs_of_different_problems_are_compared_only_when_told(tmp_path: Path) -> None:
    assert "different problems (bias_silu_clamp, softmax_small)" in refused(tmp_path, "compare", *RUNS[:2])
    assert "Name two runs or more" in refused(tmp_path, "compare", RUNS[0], RUNS[0])
    for axis in ("round", "evaluations", "minutes"):
        whole = parsed(tmp_path, "compare", *RUNS, "--anyway", "--axis", axis)
        assert [one["run"] for one in whole["runs"]] == list(RUNS)
        assert all(one["points"][-1]["kernel"] == one["winner"] for one in whole["runs"])
        shown = printed(tmp_path, "compare", *RUNS, "--anyway", "--axis", axis)
        assert all(one["winner"] in shown for one in whole["runs"])
    unpriced = parsed(tmp_path, "compare", *RUNS, "--anyway", "--axis", "dollars")
    assert {one["unknown"] for one in unpriced["runs"]} == {"36 of 36 answers unpriced", "90 of 90 answers unpriced"}
    assert [one["end"] for one in unpriced["runs"]] == [None] * 3


def test_text_is_found_in_the_newest_run_first(tmp_path: Path) -> None:
    whole = parsed(tmp_path, "search", "PREFETCH", "--limit", 5)
    assert whole["more"] is True
    assert len(whole["hits"]) == 5
    with Archive(resources.record(), read_only=True) as record:
        newest_first = [run.id for run in record.runs()]
    assert sorted(whole["hits"], key=lambda hit: newest_first.index(hit["run"])) == whole["hits"]
    assert all("prefetch" in hit["line"].lower() for hit in whole["hits"])
    (hit,) = parsed(tmp_path, "search", "PREFETCHNTA of x one page")["hits"]
    assert (hit["where"], hit["problem"]) == ("idea", "bias_silu_clamp")
    assert printed(tmp_path, "search", "nobody wrote this") == ""
    assert "Name the text" in refused(tmp_path, "search", " ")
    assert "A text of 60,000 characters is too long" in refused(tmp_path, "search", "x" * 60_000)


def test_a_run_that_two_archives_hold_is_found_once(tmp_path: Path) -> None:
    folder = tmp_path / ".treesearch"
    folder.mkdir()
    (folder / "archive.db").write_bytes(resources.record().read_bytes())
    done = scripted.typed("search", "PREFETCHNTA of x one page", "--json", cwd=tmp_path)
    assert len(json.loads(done.stdout)["hits"]) == 1


@pytest.mark.parametrize("words", [("show",), ("tree",), ("log", "839f22"), ("diff", "839f22"), ("search", "tile")])
def test_looking_does_not_wait_for_what_searching_needs(tmp_path: Path, words: tuple[str, ...]) -> None:
    code = (
        f"import sys; from treesearch.cli import execute; assert execute({list(words)}) == 0; "
        "print([name for name in ('torch', 'litellm', 'numpy') if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"
