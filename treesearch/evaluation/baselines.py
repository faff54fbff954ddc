"""The controller's side of the baseline process."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

from treesearch.errors import MachineError
from treesearch.evaluation import cache
from treesearch.evaluation.buffers import BufferSet
from treesearch.evaluation.inputs import Call
from treesearch.evaluation.sandbox import Child, ChildDied, DeadlinePassed
from treesearch.records import Problem, Protocol

START_SECONDS = 120.0
COMPILE_SECONDS = 300.0
CALL_SECONDS = 120.0
SPINS = 20_000
"""How long an idle OpenMP thread spins before it sleeps: well under a millisecond, so that the threads of a process
that was just timed are asleep when the next one is. libgomp's default spins for several milliseconds."""


def thread_variables(threads: int) -> dict[str, str]:
    """Environment that gives a baseline and a candidate the same threads and the same allocation policy.

    Threads are bound to cores: a thread that wakes on its waker's core stays there until the scheduler's next tick,
    which adds a millisecond or more to some calls and not to others. And malloc neither maps nor returns memory, so
    that torch's outputs reuse warm pages, as a kernel's preallocated ones do.
    """
    return {
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "OMP_PROC_BIND": "true",
        "GOMP_SPINCOUNT": str(SPINS),
        "MALLOC_MMAP_MAX_": "0",
        "MALLOC_TRIM_THRESHOLD_": str(1 << 62),
        "MALLOC_TOP_PAD_": str(64 << 20),
    }


class Baselines:
    """Eager and torch.compile over the candidates' own buffers. `compile_error` says why compile is absent."""

    def __init__(self, problem: Problem, protocol: Protocol, sets: list[BufferSet], call: Call) -> None:
        self._start = {
            "name": problem.name,
            "source": problem.source,
            "threads": protocol.threads,
            "arguments": [asdict(argument) for argument in problem.signature.arguments],
            "sets": [buffers.description() for buffers in sets],
            "scalars": call.scalars,
        }
        self._descriptors = [descriptor for buffers in sets for descriptor in buffers.descriptors]
        self._threads = protocol.threads
        self._child = self._open()
        self.compile_error = self._prepare_compile()

    @property
    def kinds(self) -> tuple[str, ...]:
        return ("eager",) if self.compile_error else ("eager", "compile")

    def time(self, which: str, buffers: int, call: Call) -> float:
        """Milliseconds of one call of `eager` or `compile` on a set of buffers."""
        try:
            reply = self._child.ask({"which": which, "set": buffers, "scalars": call.scalars}, CALL_SECONDS)
        except (ChildDied, DeadlinePassed) as error:
            raise MachineError(f"The process that times the reference failed ({which}): {error}.") from error
        if "error" in reply:
            raise MachineError(f"The reference raised on its own inputs ({which}): {reply['error']}.")
        return float(reply["nanoseconds"]) / 1e6

    def close(self) -> None:
        self._child.close()

    def _open(self) -> Child:
        root = Path(__file__).parents[2]
        variables = {
            **thread_variables(self._threads),
            "PYTHONPATH": str(root),
            "TORCHINDUCTOR_CACHE_DIR": str(cache.folder() / "inductor"),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
        }
        command = [sys.executable, "-m", "treesearch.evaluation.baseline"]
        child = Child(command, descriptors=self._descriptors, variables=variables)
        try:
            child.ask(self._start, START_SECONDS)
        except (ChildDied, DeadlinePassed) as error:
            reason = str(error) or f"no answer in {START_SECONDS:.0f} s"
            raise MachineError(f"The process that times the reference did not start: {reason}.") from error
        return child

    def _prepare_compile(self) -> str:
        try:
            return str(self._child.ask({"which": "prepare compile"}, COMPILE_SECONDS)["error"])
        except DeadlinePassed:
            problem = f"torch.compile took longer than {COMPILE_SECONDS:.0f} s"
        except ChildDied as error:
            problem = f"torch.compile killed its process: {error.reason}"
        self._child = self._open()
        return problem
