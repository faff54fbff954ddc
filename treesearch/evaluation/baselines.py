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
        self._child = self._open()
        self.compile_error = self._prepare_compile()

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
