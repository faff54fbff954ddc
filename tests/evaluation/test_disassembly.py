"""Mixes of built kernels: read once, kept beside the build, and never a reason to fail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from treesearch.evaluation import disassembly
from treesearch.evaluation.build import build
from treesearch.languages import CPP, Language
from treesearch.languages.mix import Count, Disassembler, Mix
from treesearch.languages.module import MODULE
from treesearch.records import Problem

FOUND = (Mix("launch", (Count("FMA 512-bit", 3),)),)


def language(script: str, found: tuple[Mix, ...] = FOUND) -> Language:
    """C++, whose disassembler is a shell script."""
    return replace(
        CPP, disassembler=Disassembler(lambda: "/bin/sh", lambda tool, _: [tool, "-c", script], lambda _: found)
    )


@pytest.fixture
def library(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    (tmp_path / "kernel.so").write_bytes(b"code")
    return tmp_path / "kernel.so"


def test_a_listing_is_read_once(library: Path) -> None:
    assert disassembly.mixes(language("echo listing"), library) == FOUND
    assert disassembly.mixes(language("exit 1", ()), library) == FOUND


def test_a_tool_that_fails_shows_nothing_and_is_asked_again(library: Path) -> None:
    assert disassembly.mixes(language("echo listing; exit 1"), library) == ()
    assert disassembly.mixes(language("echo listing"), library) == FOUND


def test_a_tool_that_hangs_is_stopped(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disassembly, "SECONDS", 0.2)
    assert disassembly.mixes(language("sleep 600"), library) == ()


def test_a_tool_that_writes_without_end_is_stopped(library: Path) -> None:
    assert disassembly.mixes(language("exec yes"), library) == ()


def test_without_a_tool_or_a_shared_object_there_is_nothing(library: Path) -> None:
    absent = replace(CPP, disassembler=Disassembler(lambda: None, lambda tool, _: [tool], lambda _: FOUND))
    assert disassembly.mixes(absent, library) == disassembly.mixes(MODULE, library) == ()


def test_what_is_kept_and_damaged_is_read_again(library: Path) -> None:
    library.with_name(disassembly.KEPT).write_text("[{]")
    assert disassembly.mixes(language("echo listing"), library) == FOUND


@pytest.mark.untimed
def test_a_real_build_comes_with_its_mix(compiler: str, tiny_problem: Problem, honest: str) -> None:
    if CPP.disassembler is None or CPP.disassembler.tool() is None:
        pytest.skip("objdump was not found, or this is no x86-64 machine")
    first, again = build(tiny_problem, CPP, honest), build(tiny_problem, CPP, honest)
    assert again.record.cached
    assert first.mixes == again.mixes
    assert "launch" in [mix.function for mix in first.mixes]
