"""The controller's side of the baseline processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from treesearch.errors import MachineError
from treesearch.evaluation import cache, clock, configurations, device, verify
from treesearch.evaluation.buffers import BufferSet
from treesearch.evaluation.calls import Call, Scalars
from treesearch.evaluation.configurations import Settings
from treesearch.evaluation.inputs import Deck
from treesearch.evaluation.lanes import Lane
from treesearch.evaluation.preloaded import Preloaded
from treesearch.evaluation.sandbox import Child, ChildDied, DeadlinePassed
from treesearch.records import Configuration, Problem, Protocol, Timing

START_SECONDS = 120.0
COMPILE_SECONDS = 300.0
CALL_SECONDS = 120.0
MOST_COMPILERS = 8
COMPILE = "prepare compile"
PROGRAM, CONFIGURED = "treesearch.evaluation.baseline", "treesearch.evaluation.configured"
PRELOADED = (CONFIGURED, "torch._dynamo", "torch._inductor.compile_fx")
"""What is imported once for all of them."""
OWN = ("eager", "compile")
"""What the reference is timed as under its own settings."""


class Baselines:
    """Eager and torch.compile over the candidates' own buffers. `compile_error` says why compile is absent.

    Thorough ones time torch under other settings as well (`configurations.py`), once `configure` has tried them.
    """

    def __init__(
        self,
        problem: Problem,
        protocol: Protocol,
        lane: Lane,
        sets: list[BufferSet],
        scalars: Scalars,
        *,
        thorough: bool = False,
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
        self._problem = problem
        self._lane = lane
        self._sets = sets
        self._thorough = thorough
        self._variables = lane.with_torch(protocol)
        self._descriptors = [descriptor for buffers in sets for descriptor in buffers.descriptors]
        self._configured: dict[str, Child] = {}
        self._rejected: dict[str, str] = {}
        """Why configurations are not timed, by name."""
        self.compile_error = ""
        self._child = self._open(PROGRAM)
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
        self._child = self._open(PROGRAM)
        self._await_start()

    def configure(self, deck: Deck) -> None:
        """Try torch under other settings, one after the other, on every call of the deck that kernels are checked on.

        What is right there, as kernels have to be, is timed from here on; everything else is rejected with the reason.
        """
        for settings in configurations.chosen(self._problem, self._lane.device) if self._thorough else ():
            child = self._open(CONFIGURED, settings)
            try:
                failure = self._failure(child, deck)
            except DeadlinePassed:
                failure = f"it took longer than {COMPILE_SECONDS:.0f} s to be ready"
            except ChildDied as error:
                failure = f"it killed its process: {error.reason}"
            if failure:
                child.close()
                self._rejected[settings.name] = failure
            else:
                self._configured[settings.name] = child

    @property
    def kinds(self) -> tuple[str, ...]:
        """What can be timed."""
        return (*(OWN[:1] if self.compile_error else OWN), *self._configured)

    def time(self, which: str, buffers: int, scalars: Scalars) -> float:
        """Milliseconds of one call of `eager`, `compile` or a configuration on a set of buffers."""
        child = self._configured.get(which, self._child)
        try:
            reply = child.ask({"which": which, "set": buffers, "scalars": scalars, "write": False}, CALL_SECONDS)
        except (ChildDied, DeadlinePassed) as error:
            raise MachineError(f"The process that times the reference failed ({which}): {error}.") from error
        if "error" in reply:
            raise MachineError(f"The reference raised on its own inputs ({which}): {reply['error']}.")
        return float(reply["nanoseconds"]) / 1e6

    def configured(self, kernel: Timing, timings: Mapping[str, Timing]) -> tuple[Configuration, ...]:
        """All configurations, timed ones first, beside a kernel's time; `timings` are those of `kinds`."""
        timed = [Configuration(name, timings[name], clock.speedup(timings[name], kernel)) for name in self._configured]
        return (*timed, *(Configuration(name, error=error) for name, error in self._rejected.items()))

    def close(self) -> None:
        for child in (self._child, *self._configured.values()):
            child.close()

    def _failure(self, child: Child, deck: Deck) -> str:
        """Why a configuration is no baseline, or nothing. Raises ChildDied or DeadlinePassed."""
        if failure := child.receive(START_SECONDS + COMPILE_SECONDS).get("error"):
            return str(failure)
        answers = (self._answer(child, call, turn % len(self._sets)) for turn, call in enumerate(deck.calls))
        return next((failure for failure in answers if failure), "")

    def _answer(self, child: Child, call: Call, index: int) -> str:
        """What is wrong with its answer to one call, or nothing."""
        buffers = self._sets[index]
        buffers.fill(call.values)
        self._lane.join()
        reply = child.ask({"set": index, "scalars": call.scalars, "write": True}, CALL_SECONDS)
        if "error" in reply:
            return str(reply["error"])
        return verify.check(self._problem, call.stratum, call.answers, buffers.outputs()).failure

    def _open(self, program: str, settings: Settings | None = None) -> Child:
        root, compilers = Path(__file__).parents[2], self._compilers(settings)
        variables = {
            **self._variables,
            "PYTHONPATH": str(root),
            "TORCHINDUCTOR_CACHE_DIR": str(cache.folder() / "inductor"),
            "TORCHINDUCTOR_COMPILE_THREADS": str(compilers),
        }
        imported = PRELOADED if compilers == 1 else ()  # with several, importing the compiler starts them
        child = Preloaded(program, imported, descriptors=self._descriptors, variables=variables)
        child.send({**self._start, "settings": asdict(settings)} if settings else self._start)
        return child

    def _compilers(self, settings: Settings | None) -> int:
        """Processes in which Inductor compiles. A pool of them is slow to start, but max-autotune compiles dozens of
        kernels for a GPU, one after the other for a minute and more."""
        if settings is None or settings.compiler != "max-autotune" or self._lane.device == "cpu":
            return 1
        return min(device.cores(), MOST_COMPILERS)

    def _await_start(self) -> None:
        try:
            self._child.receive(START_SECONDS)
        except (ChildDied, DeadlinePassed) as error:
            reason = str(error) or f"no answer in {START_SECONDS:.0f} s"
            raise MachineError(f"The process that times the reference did not start: {reason}.") from error
