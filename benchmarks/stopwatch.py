"""Where the time of a judgement goes: functions of the evaluator, wrapped by what they do."""

from __future__ import annotations

import functools
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from treesearch import feedback
from treesearch.evaluation import (
    bench,
    build,
    clock,
    conditions,
    disassembly,
    evaluator,
    floor,
    imports,
    inputs,
    leaving,
    oracle,
    trial,
    verify,
)
from treesearch.evaluation.baselines import Baselines
from treesearch.evaluation.buffers import BufferSet
from treesearch.evaluation.candidate import Candidate

OTHER = "everything else"
BUILDING = "compiler", "disassembler"
SANITIZER, PROFILER = "compute-sanitizer", "ncu"
PAUSES = "pauses"
SETTING_UP = (
    "set-up: buffers and processes",
    "set-up: deck",
    "set-up: bytes that matter",
    "set-up: float64 answers",
    "set-up: waiting for torch.compile",
)
STEPS: tuple[tuple[object, str, str], ...] = (
    (build, "build", BUILDING[0]),
    (disassembly, "mixes", BUILDING[1]),
    (bench.Bench, "set_up", SETTING_UP[0]),
    (bench.Bench, "redraw", SETTING_UP[1]),
    (inputs, "draw", SETTING_UP[1]),
    (floor, "moved_bytes", SETTING_UP[2]),
    (oracle, "answer", SETTING_UP[3]),
    (Baselines, "wait", SETTING_UP[4]),
    (imports, "refused", "looking at imports"),
    (Candidate, "__init__", "starting a worker, loading the kernel"),
    (Candidate, "wait", "starting a worker, loading the kernel"),
    (Candidate, "calibrate", "questions that launch nothing"),
    (leaving, "settle", "waiting until the dead are gone"),
    (Candidate, "load", "starting a worker, loading the kernel"),
    (Candidate, "announce", "announcing launches"),
    (Candidate, "announce_burst", "announcing launches"),
    (Candidate, "announce_otherwise", "announcing launches"),
    (Candidate, "otherwise", "launches"),
    (Candidate, "launch", "launches"),
    (Candidate, "prepare", "launches"),
    (Candidate, "burst", "bursts"),
    (Candidate, "warm", "warm launches"),
    (Candidate, "crossing", "questions that launch nothing"),
    (Candidate, "overhead", "questions that launch nothing"),
    (Candidate, "works_unasked", "watching an idle worker"),
    (Candidate, "close", "stopping a worker"),
    (Baselines, "time", "baselines"),
    (BufferSet, "fill", "new contents"),
    (BufferSet, "damage", "comparing inputs and guards"),
    (trial.Trial, "_snapshot", "copying outputs"),
    (verify, "check", "checking answers"),
    (verify, "same_bits", "checking answers"),
    (conditions.Processor, "before", "looking at the machine"),
    (conditions.Processor, "after", "looking at the machine"),
    (conditions.Graphics, "before", "looking at the machine"),
    (conditions.Graphics, "after", "looking at the machine"),
    (clock, "speedup", "intervals"),
    (evaluator.Evaluator, "inspect", SANITIZER),
    (evaluator.Evaluator, "_profiled", PROFILER),
    (feedback, "text", "feedback"),
    (time, "sleep", PAUSES),
)
"""What is wrapped: its owner, its name, and the step that its time counts for."""


class Stopwatch:
    """Adds up the seconds of one thread by step. Of nested steps each second counts for the innermost alone."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._thread = threading.get_ident()
        self._open: list[str] = []
        self._since = time.perf_counter()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        waits = name == PAUSES and self._open and self._open[-1] in (SANITIZER, PROFILER)  # for the tool's end
        if threading.get_ident() != self._thread or waits:
            yield
            return
        self._turn()
        self._open.append(name)
        try:
            yield
        finally:
            self._turn()
            self._open.pop()

    def take(self) -> Mapping[str, float]:
        """The seconds since the last time that it was asked."""
        self._turn()
        taken, self.seconds = self.seconds, defaultdict(float)
        return taken

    def _turn(self) -> None:
        now = time.perf_counter()
        self.seconds[self._open[-1] if self._open else OTHER] += now - self._since
        self._since = now


@contextmanager
def watching() -> Iterator[Stopwatch]:
    """A stopwatch around everything in STEPS, of the thread that asks."""
    watch = Stopwatch()
    before = [(owner, name, vars(owner)[name]) for owner, name, _ in STEPS]
    for owner, name, step in STEPS:
        setattr(owner, name, _wrapped(vars(owner)[name], step, watch))
    try:
        yield watch
    finally:
        for owner, name, function in reversed(before):
            setattr(owner, name, function)


def _wrapped(function: Any, step: str, watch: Stopwatch) -> Any:
    inner = function.__func__ if isinstance(function, classmethod) else function

    @functools.wraps(inner)
    def timed(*args: Any, **keywords: Any) -> Any:
        with watch.step(step):
            return inner(*args, **keywords)

    return classmethod(timed) if isinstance(function, classmethod) else timed
