"""The controller's side of the process that runs one candidate: what it is asked, and the controller's own readings.

Every question is asked in the same way: a line is put into the pipe while the process is stopped, the process is
continued, its answer is awaited, and it is stopped again. What is timed is announced by one line and begun by another:
contents come in between, when the process has parsed the first and waits for the second. So nothing that it left
running sees new contents before its clock is about to start, and the controller's readings around different questions
compare.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from treesearch.evaluation import imports, launches, leaving, processes
from treesearch.evaluation import walls as sandboxes
from treesearch.evaluation.buffers import BufferSet
from treesearch.evaluation.calls import Scalars
from treesearch.evaluation.checks import Check, Checks
from treesearch.evaluation.lanes import Lane, worker_command
from treesearch.evaluation.sandbox import Child, ChildDied, DeadlinePassed
from treesearch.evaluation.walls import Walls
from treesearch.feedback import Launch
from treesearch.records import Problem, Protocol, Role, Status

LONGEST_READING = 1 << 62
"""Nanoseconds that a clock can show; a candidate that answers in the worker's place may send any number."""
TRUSTED = 5
"""How often a question, and a burst without launches, is timed before a candidate is loaded."""
REST_SECONDS, FLUSHED_BYTES = 0.004, 8 << 20
"""What comes between these: later questions come after pauses, and find caches full of others' data."""
GRANTED = 1.0, 1.5
"""Times the median of that which a question, and each turn of a burst, may take afterwards; what takes longer is on the
candidate. A question usually takes two thirds of that: it is seldom asked of a process that rested."""
SPIN_SECONDS = 0.001
"""How long idle OpenMP threads may go on spinning after a launch, and the worker's interpreter may be busy."""
IDLE_SECONDS = 0.004
"""How long a process that was asked nothing is watched."""
LONGEST_IDLE_SECONDS = 0.05
"""How long one that wants to run is, at the most: on a busy machine honest threads wait for their turn to sleep."""
LONGEST_STOP_SECONDS = {"cpu": 5.0, "cuda": 0.01}
"""How long it is waited for threads to stop, which a system call has to end for and, on a busy machine, a core be free.
On a GPU one may sleep in the driver where no signal reaches it."""
MOST_STOP_SECONDS = 0.1
"""Of CPU time that they may use until then: more is work."""
BUSY_SHARE = 0.5
"""Share of a core; less may be the interpreter, or the machine's own doings."""


class Failed(Exception):
    """The verdict is known, and it is not good."""

    def __init__(self, status: Status, error: str) -> None:
        super().__init__(error)
        self.status = status
        self.error = error


@dataclass(frozen=True)
class Reading:
    """One launch: the worker's reading and the controller's around it (ms)."""

    inside: float
    outside: float


class Candidate:
    """A candidate at work in a process of its own, stopped whenever nothing is asked of it.

    Everything it is asked counts against the deadline. What is asked raises Failed where the process dies, does not
    answer in time, or answers with something else than what was asked for.
    """

    def __init__(
        self,
        problem: Problem,
        protocol: Protocol,
        lane: Lane,
        sets: list[BufferSet],
        library: Path,
        scalars: Scalars,
        walls: Walls | None,
        without: Checks,
    ) -> None:
        """Starts the process, which takes a while. It has to be ready (`wait`) and known (`calibrate`) before it is
        loaded."""
        self._seconds = protocol.deadline_seconds
        self._left = protocol.deadline_seconds
        self._scalars = scalars
        self._sets = len(sets)
        self._longest_question = self._longest_turn = math.inf
        self._without = without
        self._library = library
        self._device = lane.device
        self._watched = lane.code_is_known and Check.SYMBOLS not in without
        self._code: frozenset[str] = frozenset()
        """What the process might execute before the candidate was loaded."""
        self._since: frozenset[str] = frozenset()
        """What it might once the candidate had just been loaded."""
        arguments = problem.signature.arguments
        call = {
            "library": str(library),
            "needed": imports.needed(library),
            "arguments": [argument.dtype if argument.role is Role.SCALAR else "pointer" for argument in arguments],
            "sets": [buffers.description() for buffers in sets],
            "scalars": scalars,
            "without": sorted(without),
            "lockdown": self._lockdown(walls),
            **lane.start,
        }
        self._child = Child(
            worker_command(lane),
            limits=lane.limits,
            descriptors=[descriptor for buffers in sets for descriptor in buffers.descriptors],
            variables=lane.variables(protocol),
            walls=walls,
        )
        try:
            self._child.send(call)
        except BaseException:  # Ctrl-C too: the child must not outlive this
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._child.close()

    def wait(self) -> None:
        """Until the process is ready. It has been at work since it was started, with nothing of the candidate's."""
        with self._counted():
            self._answer()
        self._code = self._held()

    def calibrate(self, *, bursts: bool = True) -> None:
        """Measures what asking it takes while no code of the candidate's runs in it, nor anything else.

        Without `bursts` none may be asked for: what each turn of one takes is left out.
        """
        leaving.settle()  # on a GPU the processes before it are gone about now, and nothing is timed until they are
        everything = dict.fromkeys(range(self._sets), self._scalars)
        self.overhead(everything)  # which maps the pages
        question = _cold_median(self.crossing)
        if bursts:
            turns = _cold_median(lambda: self.overhead(everything))
            self._longest_turn = GRANTED[1] * max(0.0, turns - question) / len(everything)
        self._longest_question = GRANTED[0] * question

    def load(self) -> tuple[Launch, ...]:
        """Load the candidate; what a launch consists of, where its worker can tell.

        The buffers hold contents by then: a CUDA candidate runs once for each set of them.
        """
        told = launches.told(self._ask({"load": True}))
        self._since = self._held()
        return told

    def prepare(self, index: int, scalars: Scalars) -> None:
        """Have what a launch with other scalars needs made beforehand: the CUDA worker captures a graph for them."""
        if scalars != self._scalars:
            self._ask({"prepare": index, "scalars": scalars})

    def crossing(self) -> float:
        """Milliseconds of a question that launches nothing.

        Not much more than it took before the candidate was loaded, which may have made its process slow to answer.
        """
        return min(self._timed({})[1], self._longest_question)

    def announce(self, index: int, scalars: Scalars) -> None:
        """Have it make ready for a launch on a set of buffers, whose contents come afterwards."""
        self._announce({"set": index, "scalars": scalars})

    def launch(self) -> Reading:
        """The launch that was announced."""
        reply, outside = self._begin()
        return Reading(_reading(reply), outside)

    def announce_otherwise(self, index: int, scalars: Scalars, manner: str) -> None:
        """Have it make ready for a call on a set of buffers, in another manner than those that are timed."""
        self._announce({"plain": index, "scalars": scalars, "manner": manner})

    def otherwise(self) -> bool:
        """The call that was announced, of which nobody takes the time: it has a deadline of its own. False where the
        candidate refuses to be called so."""
        before, self._left = self._left, self._seconds
        reply, _ = self._begin()
        self._left = before
        _refuse_error(reply)
        return "refused" not in reply

    def announce_burst(self, scalars: Mapping[int, Scalars]) -> None:
        """The same for launches in a row, on these sets."""
        self._announce(_burst(scalars))

    def burst(self) -> tuple[float | None, float]:
        """The launches that were announced: the worker's reading of them together, where it reads them, and the
        controller's around them (ms)."""
        reply, outside = self._begin()
        _refuse_error(reply)
        return (_reading(reply) if "nanoseconds" in reply else None), outside

    def warm(self, index: int, scalars: Scalars) -> tuple[float | None, float]:
        """Two launches on a set: the worker's reading of the second, where it can say, and the controller's around
        both (ms)."""
        reply, outside = self._timed({"warm": index, "scalars": scalars})
        return (_reading(reply) if "nanoseconds" in reply else None), outside

    def overhead(self, scalars: Mapping[int, Scalars]) -> float:
        """Milliseconds of all that such a burst consists of but the launches; it overwrites the sets' outputs.

        Not much more than it took before the candidate was loaded, which may have made its process slow to answer.
        """
        most = self._longest_question + len(scalars) * self._longest_turn
        return min(self._timed({**_burst(scalars), "idle": True})[1], most)

    def brought_along(self) -> list[str]:
        """What its process may execute beside its own code and what it names, once loaded or now: files, or memory."""
        found = (self._since | self._held()) - self._code
        return sorted(name for name in found if Path(name).name != self._library.name)

    def works_unasked(self) -> bool:
        """Whether the process, or a child of it, uses the CPU while nothing is asked of it."""
        family = processes.family(self._child.process.pid)
        with self._awake():
            time.sleep(SPIN_SECONDS)
            started, before = time.perf_counter_ns(), processes.cpu_nanoseconds(family)
            time.sleep(IDLE_SECONDS)
            used, passed = processes.cpu_nanoseconds(family) - before, time.perf_counter_ns() - started
            if used > BUSY_SHARE * passed:
                return True
            while (wants := processes.runnable(family)) and passed < 1e9 * LONGEST_IDLE_SECONDS:
                time.sleep(SPIN_SECONDS)
                passed = time.perf_counter_ns() - started
            return wants

    def _lockdown(self, walls: Walls | None) -> dict[str, Any] | None:
        if walls is None:
            return None
        return sandboxes.available(walls.gpu).lockdown(walls, code_is_known=self._watched)

    def _held(self) -> frozenset[str]:
        return processes.code(processes.family(self._child.process.pid)) if self._watched else frozenset()

    def _timed(self, message: dict[str, Any]) -> tuple[dict[str, Any], float]:
        self._announce(message)
        return self._begin()

    def _announce(self, message: dict[str, Any]) -> None:
        """What follows finds every thread stopped, and not merely about to be."""
        if self._ask(message):
            raise Failed(Status.CRASHED, "the worker answered before it was to begin")
        if Check.STOPPED in self._without:
            return
        family, end = processes.family(self._child.process.pid), time.monotonic() + LONGEST_STOP_SECONDS[self._device]
        most = processes.cpu_nanoseconds(family) + 1e9 * MOST_STOP_SECONDS
        while not processes.stopped(family):
            if time.monotonic() > end or processes.cpu_nanoseconds(family) > most:
                if self._device == "cpu":
                    raise Failed(Status.BROKE_CONTRACT, "a system call goes on after launch has returned")
                return
            time.sleep(0)

    def _begin(self) -> tuple[dict[str, Any], float]:
        """The worker's reply to what was announced, and the controller's own reading around it (ms)."""
        started = time.perf_counter()
        reply = self._ask({})
        ended = time.perf_counter() if Check.STOPPED in self._without else self._child.stopped_at
        return reply, 1e3 * (ended - started)

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        with self._counted():
            if Check.REPLIES not in self._without:
                self._child.refuse_unasked()
            self._child.send(message)
            return self._answer()

    def _answer(self) -> dict[str, Any]:
        with self._awake():
            return _answered(self._child.receive(self._left))

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """On the candidate's own time: what goes wrong meanwhile is its verdict."""
        started = time.monotonic()
        try:
            yield
        except DeadlinePassed:
            raise Failed(Status.TIMED_OUT, f"the kernel used up its {self._seconds:g} s and was stopped") from None
        except ChildDied as death:
            raise Failed(Status.CRASHED, f"the worker died: {_explained(death.reason)}") from None
        finally:
            self._left -= time.monotonic() - started

    def _awake(self) -> AbstractContextManager[None]:
        return nullcontext() if Check.STOPPED in self._without else self._child.awake()


def _burst(scalars: Mapping[int, Scalars]) -> dict[str, Any]:
    return {"burst": list(scalars), "scalars": list(scalars.values())}


def _cold_median(measure: Callable[[], float]) -> float:
    """Of a few measurements, each after a pause and with caches full of something else."""
    found = []
    for _ in range(TRUSTED):
        time.sleep(REST_SECONDS)
        bytearray(b"x") * FLUSHED_BYTES
        found.append(measure())
    return statistics.median(found)


def _explained(death: str) -> str:
    """How a worker ended, with what most often ends it so."""
    if death.startswith(("SIGSEGV", "SIGBUS")):
        return f"{death} (an access beyond a buffer, or a write to an input: those are read-only)"
    return death


def _answered(reply: dict[str, Any]) -> dict[str, Any]:
    """A reply, unless it says how the candidate failed."""
    if "failed" not in reply:
        return reply
    broken = reply["failed"] == Status.BROKE_CONTRACT
    raise Failed(Status.BROKE_CONTRACT if broken else Status.CRASHED, str(reply.get("error", ""))[:1000])


def _reading(reply: dict[str, Any]) -> float:
    """The worker's own reading (ms) of launches that went well."""
    _refuse_error(reply)
    nanoseconds = reply.get("nanoseconds")
    if type(nanoseconds) is not int or not 0 < nanoseconds < LONGEST_READING:
        raise Failed(Status.CRASHED, "the worker sent a reading that is not one")
    return nanoseconds / 1e6


def _refuse_error(reply: dict[str, Any]) -> None:
    code = reply.get("code")
    if type(code) is not int:
        raise Failed(Status.CRASHED, "the worker sent a reading that is not one")
    if code != 0:
        raise Failed(Status.CRASHED, f"launch returned {code}; 0 means success")
