"""Which samples count, and what others did on the CPU meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from treesearch.evaluation import conditions
from treesearch.evaluation.conditions import Graphics, Processor, counting, kept
from treesearch.records import Conditions

BURN = """
import sys, time
while time.process_time() < 0.3: pass
print(flush=True)
sys.stdin.read()
"""


def test_samples_taken_with_the_clock_held_down_do_not_count() -> None:
    assert kept([False, True, False, True]) == (0, 2)
    assert kept([]) == ()


@pytest.mark.parametrize(("free", "expected"), [(1, 4), (2, 2)])
def test_with_fewer_than_a_third_left_all_count(free: int, expected: int) -> None:
    assert len(kept([True] * (4 - free) + [False] * free)) == expected


def test_pairs_stay_pairs() -> None:
    held = [False, True, False]
    assert counting(held, [1.0, 9.0, 3.0], [10.0, 90.0, 30.0]) == ([1.0, 3.0], [10.0, 30.0])


def test_series_that_were_not_taken_together_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\[3, 2\] samples were taken in 3 groups"):
        counting([False] * 3, [1.0, 2.0, 3.0], [1.0, 2.0])


def test_without_sensors_samples_count_and_nothing_is_known() -> None:
    sampler = Graphics(None)
    sampler.before()
    sampler.after()
    assert list(sampler.held) == [False]
    assert sampler.summary() == Conditions()


# ── a CPU ───────────────────────────────────────────────────────────────────────────────────────


class Proc:
    """A folder that looks like /proc with this process and its children in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tell("0 0 0 0 0 0 0 0", (0, 0, 0, 0))

    def tell(self, cores: str, own: tuple[int, int, int, int]) -> None:
        """Ticks of all cores (user, nice, system, idle, waiting, interrupts of two kinds, stolen), and this process's
        (user, system, and the same of ended children)."""
        (self.root / "stat").write_text(f"cpu  {cores} 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
        mine = self.root / str(os.getpid())
        mine.mkdir(exist_ok=True)
        (mine / "stat").write_text(f"{os.getpid()} (a b) c) S {'7 ' * 10}{' '.join(map(str, own))} 20 0 1\n")


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    return Proc(tmp_path)


def others(proc: Proc, *readings: tuple[str, tuple[int, int, int, int]]) -> float | None:
    """The share, where a group of launches lies between each two readings."""
    sampler = Processor(proc.root)
    for start, end in pairwise(readings):
        proc.tell(*start)
        sampler.before()
        proc.tell(*end)
        sampler.after()
    return sampler.summary().others


def test_what_others_use_is_what_is_busy_less_our_own(proc: Proc) -> None:
    start, end = ("100 0 100 800 0 0 0 0", (5, 5, 0, 0)), ("140 10 110 940 0 0 0 0", (25, 10, 10, 5))
    assert others(proc, start, end) == pytest.approx((60 - 40) / 200)


def test_what_a_hypervisor_takes_counts_as_others_and_waiting_for_a_disk_as_idle(proc: Proc) -> None:
    assert others(proc, ("0 0 0 0 0 0 0 0", (0, 0, 0, 0)), ("0 0 0 50 30 0 0 20", (0, 0, 0, 0))) == pytest.approx(0.2)


def test_others_are_counted_from_the_first_group_to_the_last(proc: Proc) -> None:
    readings = [
        (f"{busy} 0 0 {total - busy} 0 0 0 0", (0, 0, 0, 0)) for busy, total in [(50, 50), (60, 100), (70, 150)]
    ]
    assert others(proc, *readings) == pytest.approx(20 / 100)


def test_a_share_stays_a_share_where_ticks_are_counted_unevenly(proc: Proc) -> None:
    assert others(proc, ("0 0 0 0 0 0 0 0", (0, 0, 0, 0)), ("5 0 0 5 0 0 0 0", (9, 0, 0, 0))) == 0.0


def test_a_machine_that_tells_nothing_is_no_error(tmp_path: Path) -> None:
    sampler = Processor(tmp_path / "absent", tmp_path / "absent")
    sampler.before()
    sampler.after()
    assert list(sampler.held) == [False]
    assert sampler.summary() == Conditions()


def test_a_cpu_that_no_time_has_passed_on_tells_no_share(proc: Proc) -> None:
    assert others(proc, ("1 0 0 1 0 0 0 0", (0, 0, 0, 0)), ("1 0 0 1 0 0 0 0", (0, 0, 0, 0))) is None


def test_clocks_are_read_in_kilohertz_and_told_in_megahertz(proc: Proc, tmp_path: Path) -> None:
    frequency = tmp_path / f"cpu{min(os.sched_getaffinity(0))}" / "cpufreq" / "scaling_cur_freq"
    frequency.parent.mkdir(parents=True)
    sampler = Processor(proc.root, tmp_path)
    for kilohertz in (3_100_000, 2_900_000, 3_000_000):
        frequency.write_text(f"{kilohertz}\n")
        sampler.before()
        sampler.after()
    assert sampler.summary().clock_mhz == 3000.0


@pytest.fixture
def burnt() -> Iterator[None]:
    """A child that has used 0.3 s of a core, and is alive."""
    with subprocess.Popen([sys.executable, "-S", "-c", BURN], stdout=subprocess.PIPE, stdin=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        yield


def test_what_a_child_does_is_not_taken_for_others(burnt: None) -> None:
    """On the real /proc: what is counted as our own holds what the child used."""
    found = conditions._ticks(Path("/proc"))
    assert found is not None
    assert found.own >= 0.25 * os.sysconf("SC_CLK_TCK")


def test_what_an_ended_child_did_that_was_waited_for_stays_our_own() -> None:
    before = conditions._ticks(Path("/proc"))
    subprocess.run([sys.executable, "-S", "-c", BURN], stdin=subprocess.DEVNULL, capture_output=True, check=True)
    after = conditions._ticks(Path("/proc"))
    assert before is not None
    assert after is not None
    assert after.own - before.own >= 0.25 * os.sysconf("SC_CLK_TCK")
