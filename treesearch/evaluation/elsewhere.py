"""In place of an evaluator where the target device is not on this machine: builds what it can, and judges nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from treesearch import feedback
from treesearch.evaluation import build, device
from treesearch.evaluation.build import Built
from treesearch.languages import Language
from treesearch.records import Build, Device, Evaluation, Problem, Protocol, Status

UNBUILT = Built(None, Build("", 0.0, False, ""))
"""Stands for a kernel that only the target's machine can build."""


class Elsewhere:
    """Says of a kernel what can be said without its device: that it does not build, or nothing yet.

    Where the compiler is here and can build for the target, a kernel that does not build has its verdict at once, so
    that its repair travels instead. A device whose description names no architecture builds its kernels itself.
    """

    def __init__(
        self,
        problem: Problem,
        language: Language,
        protocol: Protocol,
        hardware: Device,
        *,
        announce: Callable[[str], None] = lambda what: None,
    ) -> None:
        """`hardware` is the target; `announce` is told where nothing can be built here."""
        self.problem = problem
        self.language = language
        self.protocol = protocol
        self.device = hardware
        self._announce = announce
        self._able: bool | None = None
        self._lock = threading.Lock()

    def build(self, source: str) -> Built:
        if not self.builds_here:
            return UNBUILT
        return build.build(self.problem, self.language, source, self.device.architecture)

    def judge(self, built: Built, *, parent: Built | None = None, incumbent: float | None = None) -> Evaluation | None:
        """A verdict on what does not build; None for everything else, which its device must judge and compare."""
        if built is UNBUILT or built.library is not None:
            return None
        software = device.software(self.language, build.compiler(self.language), self.device)
        failed = Evaluation(
            Status.BUILD_FAILED,
            self.device.id,
            self.protocol,
            built.error,
            build=built.record,
            software=software[:1],  # the compiler; nothing else of this machine had a part in it
            seconds=built.record.seconds,
        )
        return self._told(failed)

    def no_code(self) -> Evaluation:
        error = f"the answer holds no code block with {self.language.entry.name}"
        return self._told(Evaluation(Status.NO_CODE, self.device.id, self.protocol, error))

    def remeasure(self, sources: Sequence[str]) -> Iterator[Evaluation]:
        """Nothing: that is its device's to do, which a bundle asks for."""
        return iter(())

    def redraw(self) -> None:
        """There is no deck to draw anew; whoever judges draws one for each bundle."""

    def close(self) -> None:
        """Nothing to close; an evaluator has."""

    def _told(self, evaluation: Evaluation) -> Evaluation:
        """With the text that models get to read."""
        return replace(evaluation, profile=feedback.text(self.problem, self.language, self.device, evaluation))

    @property
    def builds_here(self) -> bool:
        with self._lock:
            if self._able is None:
                self._able = self._tried()
                if not self._able:
                    self._announce(f"kernels cannot be built for {self.device.name} here, only there")
            return self._able

    def _tried(self) -> bool:
        """Whether an empty kernel builds: a compiler may be absent, or older than the target."""
        if not (self.language.sealed and self.device.architecture) or self.language.compiler() is None:
            return False
        prototype = self.language.prototype(self.problem).removesuffix(";")
        empty = f'#include "problem.h"\n{prototype} {{ return 0; }}\n'
        return build.build(self.problem, self.language, empty, self.device.architecture).library is not None
