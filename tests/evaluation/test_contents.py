"""The call that a sanitizer and a profiler watch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.problem.conftest import source_of
from treesearch import problem
from treesearch.evaluation.cuda import sanitizer
from treesearch.evaluation.cuda.contents import Contents
from treesearch.records import Problem


def row_sums(rows: int = 64) -> Problem:
    forward = "x: return x.sum(1, keepdim=True).expand_as(x).contiguous()"
    return problem.from_source("row_sums", source_of(forward, f"torch.randn({rows}, 256)"))


@pytest.fixture
def contents() -> Iterator[Contents]:
    with Contents() as made:
        yield made


def told(folder: Path) -> list[dict[str, Any]]:
    arguments: list[dict[str, Any]] = json.loads((folder / "call.json").read_text())["arguments"]
    return arguments


def test_a_call_holds_the_contents_of_all_but_the_outputs(contents: Contents, tmp_path: Path) -> None:
    contents.write_call(tmp_path, tmp_path / "kernel.so", row_sums(), "libcudart.so")
    taken, given = told(tmp_path)
    assert (taken["bytes"], given["bytes"]) == (4 * 64 * 256, 4 * 64 * 256)
    assert Path(taken["content"]).stat().st_size == 4 * 64 * 256
    assert given["content"] == ""


def test_contents_are_written_once_for_all_kernels_of_a_problem(contents: Contents, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        contents.write_call(folder, folder / "kernel.so", row_sums(), "")
    assert told(one) == told(other)
    before = Path(told(one)[0]["content"]).stat()
    contents.write_call(one, one / "kernel.so", row_sums(), "")
    assert Path(told(one)[0]["content"]).stat().st_mtime_ns == before.st_mtime_ns
    contents.write_call(one, one / "kernel.so", row_sums(8), "")
    assert Path(told(one)[0]["content"]).stat().st_size == 4 * 8 * 256


def test_a_kernel_may_read_the_contents_that_others_get_and_not_change_them(contents: Contents, tmp_path: Path) -> None:
    lies = contents.write_call(tmp_path, tmp_path / "kernel.so", row_sums(), "")
    behind = sanitizer.walls("/usr/bin/compute-sanitizer", tmp_path, tmp_path / "kernel.so", "", lies)
    assert str(lies) in behind.readable
    assert behind.writable == (str(tmp_path),)


def test_nothing_is_left_of_contents_that_are_closed(tmp_path: Path) -> None:
    with Contents() as contents:
        lies = contents.write_call(tmp_path, tmp_path / "kernel.so", row_sums(), "")
        assert lies.exists()
    assert not lies.exists()
