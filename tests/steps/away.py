"""A search whose device is on another machine: the searching side takes this machine for one with another CPU.

The worker's side is told nothing: for it the target is this machine, as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.steps import scripted
from treesearch import api, plan, problem, work
from treesearch.api import Result
from treesearch.errors import Waiting
from treesearch.evaluation import bundle, clock, device
from treesearch.evaluation.bundle import Bundle, Due
from treesearch.evaluation.target import Here, protocol
from treesearch.models import ModelOptions
from treesearch.records import Device, Problem, codec
from treesearch.testing import ScriptedEndpoint


def believe(patch: pytest.MonkeyPatch) -> None:
    """Take every clock at its word: on a busy machine honest kernels are doubted, which is not what such tests ask."""
    for doubt in ("disagreement", "hidden", "slower_on_stress"):
        patch.setattr(clock, doubt, lambda *readings: "")
    patch.setattr(clock, "slowed", lambda inside, bursts: inside)


def target(**changes: Any) -> Device:
    """This machine's CPU, as somebody else may describe it."""
    return replace(device.cpu(), **changes)


def elsewhere() -> Here:
    """What a machine that has another CPU has."""
    return Here((target(name="The searching CPU"),))


def write_device(folder: Path, described: Device) -> Path:
    path = folder / "target.json"
    path.write_text(json.dumps(codec.encode(described)))
    return path


def packed(folder: Path, sources: Sequence[str], **changes: Any) -> Path:
    """A bundle of sources, k0, k1, …, of no run; `changes` are to its target."""
    subject: Problem = problem.load(str(scripted.write_problem(folder)))
    goal = target(**changes)
    kernels = tuple(Due.of(f"k{number}", source) for number, source in enumerate(sources))
    made = Bundle("", subject, subject.digest, "cpp", protocol(subject, 3.0, goal), goal, kernels)
    path = folder / f"given{bundle.SUFFIX}"
    bundle.write(path, made.text)
    return path


@dataclass(frozen=True)
class Split:
    """A search in `folder`, of the endpoint's answers, for a device that it thinks is elsewhere."""

    folder: Path
    endpoint: ScriptedEndpoint
    device: Path

    def search(self, **settings: Any) -> Result:
        counts = {"rounds": 1, "ideas": 1, "implementations": 2, "beam": 2, **settings}
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder)
            return api.search(
                scripted.write_problem(self.folder),
                models=["openai/s"],
                device=str(self.device),
                options=ModelOptions(api_base=self.endpoint.base_url),
                here=elsewhere(),
                **counts,
            )

    def waits(self, **settings: Any) -> Path:
        """The bundle that the search stops with."""
        with pytest.raises(Waiting) as stopped:
            self.search(**settings)
        return self._bundle(stopped.value)

    def finish(self, **settings: Any) -> Result:
        """The search to its end, with all that it asks of the other machine on the way."""
        while True:
            try:
                return self.search(**settings)
            except Waiting as stopped:
                self.absorb(self.judge(self._bundle(stopped)))

    def _bundle(self, stopped: Waiting) -> Path:
        return self.folder / stopped.pending[0].removeprefix("copy to that machine: ")

    @property
    def archive(self) -> Path:
        return self.folder / plan.WORKING_ARCHIVE

    def judge(self, path: Path) -> Path:
        """What the other machine, which is never too busy, does with a bundle; returns its results."""
        with pytest.MonkeyPatch.context() as patch:
            believe(patch)
            return work.work(path, say=lambda line: None).results

    def absorb(self, path: Path) -> int | None:
        return api.absorb([path], archive=self.archive)[0].fresh


def rewritten(path: Path, change: Callable[[int, dict[str, Any]], None]) -> None:
    """Change the objects of a results file, each by its line from 0, and seal them anew."""
    objects = [json.loads(line) for line in path.read_text().splitlines()]
    for number, members in enumerate(objects):
        change(number, members)
        del members[codec.DIGEST]
    path.write_text("".join(codec.canonical(codec.seal(members)) + "\n" for members in objects))
