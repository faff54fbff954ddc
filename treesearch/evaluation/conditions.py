"""What the machine is like while a kernel is timed, and which samples do not count because it held its clock down."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from treesearch.evaluation import processes
from treesearch.evaluation.cuda.nvml import Gpu
from treesearch.records import Conditions

FEWEST_KEPT = 1 / 3
"""Share of the samples that must be left; otherwise slowness is how this machine is, and all are kept."""
PROC = Path("/proc")
CPUS = Path("/sys/devices/system/cpu")


class Sampler(Protocol):
    """Looks at the machine around groups of timed launches, of which each gives one sample of every subject.

    Neither question falls into a timing; both are short beside one.
    """

    @property
    def held(self) -> Sequence[bool]:
        """For each group so far, whether the device held its clock down."""

    def before(self) -> None:
        """Called ahead of a group."""

    def after(self) -> None:
        """Called behind it, before the device can have cooled down, and while what was timed is alive."""

    def summary(self) -> Conditions:
        """Medians over the groups whose samples are `kept`."""


def kept(held: Sequence[bool]) -> tuple[int, ...]:
    """Places of the samples that count: those in which the clock was not held down, or all of them where fewer than a
    third would be left."""
    free = tuple(place for place, slow in enumerate(held) if not slow)
    return free if len(free) >= FEWEST_KEPT * len(held) else tuple(range(len(held)))


def counting(held: Sequence[bool], *series: Sequence[float]) -> tuple[list[float], ...]:
    """Each series, of one sample a group, without the samples that do not count: pairs stay pairs.

    Raises ValueError for a series of another length.
    """
    if any(len(samples) != len(held) for samples in series):
        raise ValueError(f"series of {[len(samples) for samples in series]} samples were taken in {len(held)} groups")
    places = kept(held)
    return tuple([samples[place] for place in places] for samples in series)


# ── a GPU ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Seen:
    """A GPU right after a group of launches."""

    clock_mhz: float | None
    memory_clock_mhz: float | None
    power_watts: float | None
    celsius: float | None
    reasons: tuple[str, ...]
    """Why it held its clock down, before the group or after it."""


class Graphics:
    """Of a GPU, as NVML tells; nothing where there is no NVML."""

    def __init__(self, gpu: Gpu | None) -> None:
        self._gpu = gpu
        self._reasons: tuple[str, ...] = ()
        self._seen: list[_Seen] = []

    @property
    def held(self) -> Sequence[bool]:
        return [bool(seen.reasons) for seen in self._seen]

    def before(self) -> None:
        self._reasons = self._gpu.slowdowns() if self._gpu else ()

    def after(self) -> None:
        gpu = self._gpu
        if gpu is None:
            self._seen.append(_Seen(None, None, None, None, ()))
            return
        reasons = tuple(dict.fromkeys((*self._reasons, *gpu.slowdowns())))
        self._seen.append(_Seen(gpu.clock_mhz(), gpu.memory_clock_mhz(), gpu.power_watts(), gpu.celsius(), reasons))

    def summary(self) -> Conditions:
        """Reasons beside no sample that was discarded say that the clock was held down for most of them."""
        counted = [self._seen[place] for place in kept(self.held)]
        return Conditions(
            clock_mhz=_median([seen.clock_mhz for seen in counted]),
            memory_clock_mhz=_median([seen.memory_clock_mhz for seen in counted]),
            power_watts=_median([seen.power_watts for seen in counted]),
            celsius=_median([seen.celsius for seen in counted]),
            throttled=len(self._seen) - len(counted),
            reasons=tuple(dict.fromkeys(reason for seen in self._seen for reason in seen.reasons)),
        )


# ── a CPU ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Ticks:
    """Of all cores since the machine's start, in the kernel's ticks."""

    passed: int
    busy: int
    """What a hypervisor gave to other machines included."""
    own: int
    """Of `busy`, this process's and its descendants', with the children that they have waited for."""


class Processor:
    """Of a CPU: its clock, and what others did on it. Samples are never discarded."""

    def __init__(self, proc: Path = PROC, cpus: Path = CPUS) -> None:
        self._proc = proc
        first = min(os.sched_getaffinity(0))
        self._frequency = cpus / f"cpu{first}" / "cpufreq" / "scaling_cur_freq"
        self._clocks: list[float | None] = []
        self._start: _Ticks | None = None
        self._end: _Ticks | None = None
        """At the last group: a worker that was killed takes along what is known of its work."""

    @property
    def held(self) -> Sequence[bool]:
        return [False] * len(self._clocks)

    def before(self) -> None:
        if self._start is None:
            self._start = _ticks(self._proc)

    def after(self) -> None:
        self._clocks.append(_megahertz(self._frequency))
        self._end = _ticks(self._proc)

    def summary(self) -> Conditions:
        return Conditions(clock_mhz=_median(self._clocks), others=_others(self._start, self._end))


def _others(start: _Ticks | None, end: _Ticks | None) -> float | None:
    """Share of all cores that other processes had between two readings."""
    if start is None or end is None or end.passed <= start.passed:
        return None
    others = (end.busy - start.busy) - (end.own - start.own)
    return min(max(0.0, others / (end.passed - start.passed)), 1.0)


def _ticks(proc: Path) -> _Ticks | None:
    try:
        words = (proc / "stat").read_text().partition("\n")[0].split()
        user, nice, system, idle, waiting, *rest = map(int, words[1:9])
    except (OSError, ValueError):
        return None
    busy = user + nice + system + sum(rest)
    own = sum(_own_ticks(proc / str(process)) for process in processes.family(os.getpid()))
    return _Ticks(busy + idle + waiting, busy, own)


def _own_ticks(process: Path) -> int:
    """What a process has used, with its children that it has waited for; one that is gone counts nothing."""
    try:
        return sum(map(int, (process / "stat").read_text(errors="replace").rpartition(") ")[2].split()[11:15]))
    except (OSError, ValueError):
        return 0


def _megahertz(frequency: Path) -> float | None:
    try:
        return int(frequency.read_text()) / 1e3
    except (OSError, ValueError):
        return None


def _median(values: Sequence[float | None]) -> float | None:
    """Of what is known."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
