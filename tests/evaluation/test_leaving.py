"""Processes that were killed are gone before anything is timed, on machines without control groups as well."""

from __future__ import annotations

import os
import sys
from collections import deque
from pathlib import Path

import pytest

from treesearch.evaluation import leaving, processes
from treesearch.evaluation.sandbox import Child, Limits
from treesearch.evaluation.walls import Walls, readable

SLOW_TO_LEAVE = """
import mmap, os, sys
held = mmap.mmap(-1, 256 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
held.madvise(mmap.MADV_NOHUGEPAGE)
for place in range(0, len(held), mmap.PAGESIZE):
    held[place] = 1
os.write(int(sys.argv[1]), b"{}\\n")
sys.stdin.read()
"""
"""Holds memory in so many small pages that to give them back takes some ten milliseconds."""


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaving, "_leaving", deque())


def there(process: int) -> bool:
    """Whether a process has not given back what it held."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][:1] not in "ZX"
    except OSError:
        return False


def test_what_a_child_started_is_gone_once_it_is_settled() -> None:
    command = [os.path.realpath(sys.executable), "-I", "-S", "-c", SLOW_TO_LEAVE]
    child = Child(command, limits=Limits(), walls=Walls(readable()))
    try:
        child.ask({}, seconds=20)
        family = processes.family(child.process.pid)
    finally:
        child.close()
    leaving.settle()
    assert not [process for process in family if there(process)]


def test_what_does_not_go_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaving, "LONGEST_LEAVING", 0.05)
    leaving.watch([os.getpid()])
    leaving.settle()
    assert not leaving._leaving


def test_what_is_gone_already_is_not_waited_for() -> None:
    leaving.watch([1 << 30])
    assert not leaving._leaving
