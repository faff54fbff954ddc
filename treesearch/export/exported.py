"""A kernel that is to be exported, with all that is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treesearch import languages
from treesearch.errors import UsageError
from treesearch.languages import Language
from treesearch.languages.language import identifier
from treesearch.lineage import Lineage, Reviewed, Standing
from treesearch.records import Answer, Device, Entry, Evaluation, Problem, Purpose, Run, Spending, Status

if TYPE_CHECKING:
    from treesearch.archive import Archive

LONGEST_NAME = 60


@dataclass(frozen=True)
class Exported:
    """A verified kernel, where it comes from, and what was measured of it."""

    problem: Problem
    run: Run
    entry: Entry
    source: str
    evaluation: Evaluation
    """The figure to publish: the newest final measurement on the run's device, else the verdict."""
    is_final: bool
    """Whether it was taken after the selection."""
    device: Device
    """Where it was judged."""
    path: tuple[Entry, ...]
    """From the root down to the kernel, both included."""
    answers: Mapping[str, Answer]
    """The answers that the ideas and kernels of the path came of, by the id of their question."""
    spent: Spending
    """What the whole run took."""

    @property
    def id(self) -> str:
        return self.entry.kernel.id

    @property
    def language(self) -> Language:
        return languages.named(self.entry.kernel.language)

    @property
    def architecture(self) -> str:
        """What it is compiled for, such as `sm_90a`; empty where that is the machine that compiles."""
        return self.device.architecture or self.language.architecture

    @property
    def name(self) -> str:
        """The problem's name as a Python identifier, for files and operators."""
        return identifier(self.problem.name)[:LONGEST_NAME]


def gather(store: Archive, run: Run, kernel: str | None = None) -> Exported:
    """A kernel, by its full id, or the winner of a run. Raises UsageError, with the reason, for one that is not to be
    used by anybody."""
    lineage = store.lineage(run.id)
    fastest = lineage.fastest()
    if kernel is None and fastest is None:
        raise UsageError(f"Run {run.id} has no verified kernel, so there is no winner to export.")
    entry = lineage.entry(kernel or (fastest.kernel.id if fastest else ""))
    _refuse(entry)
    assert entry.evaluation is not None
    assert entry.kernel.source is not None, "it was verified"
    final = _final(store, entry, run)
    return Exported(
        problem=store.problem(run.problem),
        run=run,
        entry=entry,
        source=entry.kernel.source,
        evaluation=final or entry.evaluation,
        is_final=final is not None,
        device=store.device(run.device),
        path=lineage.path(entry.kernel.id),
        answers=_answers(store, lineage, entry),
        spent=store.spend(run.id),
    )


def _refuse(entry: Entry) -> None:
    kernel, judged = entry.kernel.id, entry.evaluation
    if isinstance(entry, Reviewed) and entry.standing is Standing.REOPENED:
        raise UsageError(f"Kernel {kernel} is re-opened, so it is not exported: {entry.reason}.")
    if judged is None:
        raise UsageError(f"Kernel {kernel} has no verdict yet, so it is not exported.")
    if judged.status is not Status.VERIFIED:
        said = str(judged.status).replace("_", " ")
        raise UsageError(f"Kernel {kernel} is {said}, so it is not exported: {judged.error}")


def _final(store: Archive, entry: Entry, run: Run) -> Evaluation | None:
    measured = [one for one in store.remeasurements([entry.kernel.id]) if one.purpose is Purpose.FINAL]
    sound = [one.evaluation for one in measured if one.evaluation.status is Status.VERIFIED]
    return next((judged for judged in reversed(sound) if judged.device == run.device), None)


def _answers(store: Archive, lineage: Lineage, entry: Entry) -> dict[str, Answer]:
    path = [node.kernel for node in lineage.path(entry.kernel.id)]
    asked = [kernel.answer for kernel in path] + [kernel.proposal.answer for kernel in path if kernel.proposal]
    found = {request: store.answer(request) for request in asked if request}
    return {request: answer for request, answer in found.items() if answer is not None}
