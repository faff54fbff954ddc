"""One candidate on the deck: every call checked once, and the nominal ones timed along with spares."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from treesearch.evaluation import clock, verify
from treesearch.evaluation.baselines import Baselines
from treesearch.evaluation.buffers import BufferSet
from treesearch.evaluation.inputs import Call, Deck
from treesearch.evaluation.lanes import Lane, worker_command
from treesearch.evaluation.sandbox import Child, ChildDied, DeadlinePassed
from treesearch.records import Accuracy, Measurement, Problem, Protocol, Ratio, Role, Status, Timing

REPEAT_SHARE = 0.5
"""Share of the deadline after which calls that were already seen are not repeated."""
LONGEST_READING = 1 << 62
"""Nanoseconds that a clock can show; a candidate that answers in the worker's place may send any number."""
KERNEL = "kernel"
ALLOCATING = (
    "cudaMalloc cudaMallocAsync cudaMallocManaged cudaMallocHost cudaHostAlloc cudaMallocPitch cudaMalloc3D "
    "cudaMallocArray cudaMallocFromPoolAsync cudaHostRegister"
).split()
"""Refused wherever they are called: what is allocated once is no part of any captured graph."""
FORBIDDEN = (
    "cudaFree cudaFreeAsync cudaMemcpy cudaMemset cudaDeviceSynchronize cudaStreamSynchronize cudaEventSynchronize "
    "cudaStreamQuery cudaEventQuery cudaLaunchHostFunc cudaStreamAddCallback cudaStreamCreate cudaStreamBeginCapture "
    "cudaGraphLaunch"
).split()
"""Named where a launch cannot be captured: each waits, runs host code, or is refused during capture."""


class Failed(Exception):
    """The verdict is known, and it is not good."""

    def __init__(self, status: Status, error: str) -> None:
        super().__init__(error)
        self.status = status
        self.error = error


@dataclass(frozen=True)
class Outcome:
    """A candidate that was right on every checked call. `doubt` says why its time cannot be believed, if so."""

    accuracy: Accuracy
    measurement: Measurement
    doubt: str


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Keep this process's own OpenMP threads asleep: filling and checking must not spin into a timed call."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Trial:
    """Runs one candidate in a worker of its own, timing the baselines in turn with it on the same contents."""

    def __init__(
        self,
        problem: Problem,
        protocol: Protocol,
        lane: Lane,
        deck: Deck,
        sets: list[BufferSet],
        baselines: Baselines,
    ) -> None:
        self.lane = lane
        self.problem = problem
        self.protocol = protocol
        self.deck = deck
        self.sets = sets
        self.baselines = baselines
        self.chance = random.SystemRandom()
        self.left = protocol.deadline_seconds
        self.samples: dict[str, list[float]] = {KERNEL: [], **{kind: [] for kind in baselines.kinds}}
        self.outside: list[float] = []
        """The controller's own readings (ms), one for each in samples[KERNEL]."""
        self.crossings: list[float] = []
        """What the controller reads (ms) around a question that launches nothing, asked before each launch."""
        self.checks: list[verify.Checked] = []

    def run(self, library: Path) -> Outcome:
        """Raises Failed where the candidate crashes, hangs or is wrong."""
        started = time.monotonic()
        if allocating := [name for name in _called(library) if name in ALLOCATING]:
            called = ", ".join(allocating)
            raise Failed(Status.BROKE_CONTRACT, f"the library calls {called}; a launch gets its memory as scratch")
        with _single_threaded(), self._start(library) as child:
            for visit in self._visits():
                late = time.monotonic() - started > REPEAT_SHARE * self.protocol.deadline_seconds
                if visit.checked or not late:
                    self._visit(child, visit)
        measurement = self._measurement()
        return Outcome(self._accuracy(), measurement, self._doubt(measurement.kernel))

    def _doubt(self, kernel: Timing) -> str:
        """Why the kernel's time cannot be believed, or nothing."""
        written = sum(output.nbytes for output in self.sets[0].outputs())
        outside, crossing = Timing(tuple(self.outside)), Timing(tuple(self.crossings))
        too_fast = clock.too_fast(kernel, self.lane.quickest(written))
        return clock.disagreement(kernel, outside, crossing) or too_fast

    def _visits(self) -> list[Call]:
        """Every call of the deck once and spares for the repeats, in an order drawn by lot."""
        nominal = sum(call.nominal for call in self.deck.calls)
        repeats = nominal * (self.protocol.repeats - 1)
        visits = [*self.deck.calls, *(self.deck.spares[turn % len(self.deck.spares)] for turn in range(repeats))]
        self.chance.shuffle(visits)
        return visits

    def _start(self, library: Path) -> Child:
        arguments = self.problem.signature.arguments
        first = self.deck.calls[0]
        for buffers in self.sets:  # the CUDA worker runs a candidate once while it starts
            buffers.fill(first.values)
        self.lane.join()
        child = Child(
            worker_command(self.lane),
            limits=self.lane.limits,
            descriptors=[descriptor for buffers in self.sets for descriptor in buffers.descriptors],
            variables=self.lane.variables(self.protocol),
        )
        call = {
            "library": str(library),
            "arguments": [argument.dtype if argument.role is Role.SCALAR else "pointer" for argument in arguments],
            "sets": [buffers.description() for buffers in self.sets],
            "scalars": first.scalars,
            **self.lane.start,
        }
        try:
            self._ask(child, call)
        except BaseException as failure:  # Ctrl-C too: the child must not outlive this
            child.close()
            if isinstance(failure, Failed):
                raise _explained(failure, library) from None
            raise
        return child

    def _visit(self, child: Child, call: Call) -> None:
        """New contents behind the same pointers, then kernel and baselines in an order drawn by lot."""
        index = self.chance.randrange(len(self.sets))
        buffers, values = self.sets[index], call.values
        if call.scalars != self.deck.calls[0].scalars:  # the CUDA worker captures a graph of its own for these
            with child.awake():
                self._ask(child, {"prepare": index, "scalars": call.scalars})
        buffers.fill(values)
        self.lane.join()
        subjects = list(self.samples) if call.nominal else [KERNEL]
        self.chance.shuffle(subjects)
        snapshot: list[torch.Tensor] = []
        for subject in subjects:
            if subject != KERNEL:
                time.sleep(self.lane.settle_seconds)
                self.samples[subject].append(self.baselines.time(subject, index, call.scalars))
                continue
            with child.awake():
                time.sleep(self.lane.settle_seconds)
                self._launch(child, index, call)
            if call.checked:  # the worker is stopped: what it has not written yet does not count
                snapshot = [output.clone() for output in buffers.outputs()]
                self.lane.join()
        if damaged := buffers.damage(values):
            raise Failed(Status.WRONG, f"the kernel wrote to {damaged}, which is not an output")
        if call.checked:
            self._check(call, snapshot)

    def _launch(self, child: Child, index: int, call: Call) -> None:
        _, crossing = self._timed(child, {})
        reply, outside = self._timed(child, {"set": index, "scalars": call.scalars})
        code, nanoseconds = reply.get("code"), reply.get("nanoseconds")
        if not isinstance(code, int) or not isinstance(nanoseconds, int) or not 0 < nanoseconds < LONGEST_READING:
            raise Failed(Status.CRASHED, "the worker sent a reading that is not one")
        if code != 0:
            raise Failed(Status.CRASHED, f"launch returned {code}; 0 means success")
        if call.nominal:
            self.samples[KERNEL].append(nanoseconds / 1e6)
            self.outside.append(outside)
            self.crossings.append(crossing)

    def _timed(self, child: Child, message: dict[str, Any]) -> tuple[dict[str, Any], float]:
        """The worker's reply, and the controller's own reading around it (ms)."""
        started = time.perf_counter()
        reply = self._ask(child, message)
        return reply, 1e3 * (time.perf_counter() - started)

    def _ask(self, child: Child, message: dict[str, Any]) -> dict[str, Any]:
        """Ask the worker, on the candidate's own time."""
        started = time.monotonic()
        try:
            return _checked(child.ask(message, self.left))
        except DeadlinePassed:
            seconds = self.protocol.deadline_seconds
            raise Failed(Status.TIMED_OUT, f"the kernel used up its {seconds:g} s and was stopped") from None
        except ChildDied as death:
            raise Failed(Status.CRASHED, f"the worker died: {death.reason}") from None
        finally:
            self.left -= time.monotonic() - started

    def _check(self, call: Call, outputs: list[torch.Tensor]) -> None:
        checked = verify.check(self.problem, call.stratum, call.answers, outputs)
        if checked.failure:
            raise Failed(Status.WRONG, checked.failure)
        self.checks.append(checked)

    def _accuracy(self) -> Accuracy:
        worst = max(checked.worst_error for checked in self.checks)
        eager = max(checked.eager_error for checked in self.checks)
        return Accuracy(len(self.checks), worst, eager, self.deck.oracle, verify.precision(self.checks))

    def _measurement(self) -> Measurement:
        timings = {subject: Timing(tuple(samples)) for subject, samples in self.samples.items()}
        kernel, eager, compiled = timings[KERNEL], timings["eager"], timings.get("compile")
        ratio: Ratio | None = clock.speedup(compiled, kernel) if compiled else None
        error = self.baselines.compile_error
        return Measurement(kernel, eager, clock.speedup(eager, kernel), compiled, ratio, error)


def _checked(reply: dict[str, Any]) -> dict[str, Any]:
    """A reply, unless it says how the candidate failed."""
    if "failed" not in reply:
        return reply
    broken = reply["failed"] == Status.BROKE_CONTRACT
    raise Failed(Status.BROKE_CONTRACT if broken else Status.CRASHED, str(reply.get("error", ""))[:1000])


def _explained(failure: Failed, library: Path) -> Failed:
    """Names what the library calls that may be why it broke the contract."""
    called = _called(library)
    if failure.status is not Status.BROKE_CONTRACT or not called:
        return failure
    return Failed(failure.status, f"{failure.error}; the library calls {', '.join(called)}")


def _called(library: Path) -> list[str]:
    """Functions of the CUDA runtime that a library names among its symbols, out of those it has no use for."""
    content = library.read_bytes()
    return [name for name in (*ALLOCATING, *FORBIDDEN) if f"\0{name}\0".encode() in content]
