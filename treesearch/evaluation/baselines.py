"""The controller's side of the baseline process."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

from treesearch.errors import MachineError
from treesearch.evaluation import cache
from treesearch.evaluation.buffers import BufferSet
from treesearch.evaluation.inputs import Scalars
from treesearch.evaluation.lanes import Lane
from treesearch.evaluation.sandbox import Child, ChildDied, DeadlinePassed
from treesearch.records import Problem, Protocol

START_SECONDS = 120.0
COMPILE_SECONDS = 300.0
CALL_SECONDS = 120.0
COMPILE = "prepare compile"


class Baselines:
    """Eager and torch.compile over the candidates' own buffers. `compile_error` says why compile is absent."""

    def __init__(
        self, problem: Problem, protocol: Protocol, lane: Lane, sets: list[BufferSet], scalars: Scalars
    ) -> None:
        self._start = {
            "name": problem.name,
            "source": problem.source,
            "threads": protocol.threads,
            "arguments": [asdict(argument) for argument in problem.signature.arguments],
            "sets": [buffers.description() for buffers in sets],
            "scalars": scalars,
            "device": lane.device,
            **lane.start,
        }
        self._variables = lane.variables(protocol)
        self._descriptors = [descriptor for buffers in sets for descriptor in buffers.descriptors]
        self.compile_error = ""
        self._child = self._open()
        self._child.send({"which": COMPILE})

    def wait(self) -> None:
        """Until both are ready to be timed. Raises MachineError where the reference itself does not run.

        Starting the process and compiling take seconds, in which the caller may have other things to do. It has to
        be the thread that made this object, though: the process dies with that one.
        """
        self._await_start()
        try:
            self.compile_error = str(self._child.receive(COMPILE_SECONDS)["error"])
            return
        except DeadlinePassed:
            self.compile_error = f"torch.compile took longer than {COMPILE_SECONDS:.0f} s"
        except ChildDied as error:
            self.compile_error = f"torch.compile killed its process: {error.reason}"
        self._child = self._open()
        self._await_start()

    @property
    def kinds(self) -> tuple[str, ...]:
        return ("eager",) if self.compile_error else ("eager", "compile")

    def time(self, which: str, buffers: int, scalars: Scalars) -> float:
        """Milliseconds of one call of `eager` or `compile` on a set of buffers."""
        try:
            reply = self._child.ask({"which": which, "set": buffers, "scalars": scalars}, CALL_SECONDS)
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
            **self._variables,
            "PYTHONPATH": str(root),
            "TORCHINDUCTOR_CACHE_DIR": str(cache.folder() / "inductor"),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",  # more would be a pool of processes, slow to start
        }
        command = [sys.executable, "-m", "treesearch.evaluation.baseline"]
        child = Child(command, descriptors=self._descriptors, variables=variables)
        child.send(self._start)
        return child

    def _await_start(self) -> None:
        try:
            self._child.receive(START_SECONDS)
        except (ChildDied, DeadlinePassed) as error:
            reason = str(error) or f"no answer in {START_SECONDS:.0f} s"
            raise MachineError(f"The process that times the reference did not start: {reason}.") from error
