"""Groups of processes that were killed: the dead leave while other things go on."""

from __future__ import annotations

import threading
from collections import deque
from pathlib import Path

import pytest

from treesearch.evaluation.walls import cgroup


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "_leaving", deque())


def group(folder: Path) -> Path:
    """A folder that, like a group with processes in it, cannot be removed."""
    made = folder / "group"
    (made / "cgroup.kill").mkdir(parents=True)
    return made


def test_there_may_be_nothing_to_remove(tmp_path: Path) -> None:
    cgroup.remove("")
    cgroup.remove(str(tmp_path / "absent"))
    assert not cgroup._leaving


def test_one_whose_processes_still_die_is_removed_when_they_are_gone(tmp_path: Path) -> None:
    dying = group(tmp_path)
    cgroup.remove(str(dying))
    assert dying.exists()
    leaves = threading.Timer(0.1, (dying / "cgroup.kill").rmdir)
    leaves.start()
    cgroup.settle()
    leaves.join()
    assert not dying.exists()


def test_one_that_is_never_empty_is_not_waited_for_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "LONGEST_LEAVING", 0.05)
    stuck = group(tmp_path)
    cgroup.remove(str(stuck))
    cgroup.settle()
    assert stuck.exists()
    assert not cgroup._leaving
