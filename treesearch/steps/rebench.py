"""Measure kernels again, now and here, and compare those of one problem with each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from treesearch import languages
from treesearch.archive import Archive
from treesearch.errors import MachineError, UsageError
from treesearch.evaluation import target
from treesearch.evaluation.build import Built
from treesearch.evaluation.evaluator import Evaluator
from treesearch.evaluation.target import HERE, Here, Target
from treesearch.records import (
    Comparison,
    Device,
    Entry,
    Evaluation,
    Label,
    Problem,
    Purpose,
    Remeasurement,
    Run,
    Status,
)

Say = Callable[[str], None]


@dataclass(frozen=True)
class Uncompared:
    """Two kernels that were to be compared, and why they were not."""

    first: str
    second: str
    reason: str


@dataclass(frozen=True)
class Rebenched:
    """A kernel with its verdict of then, on the run's device, and of now, on this machine's."""

    entry: Entry
    """As it stands in its run; its `evaluation` is that of then, None where there is none that counts."""
    run: Run
    then: Device
    here: Device
    now: Evaluation
    compared: Comparison | Uncompared | None
    """With the first kernel named of its problem and language; None for that one itself."""

    @property
    def elsewhere(self) -> bool:
        """Whether the two were taken on different devices, so that their times do not compare."""
        return self.then.id != self.here.id


def rebench(
    archive: Archive, kernels: Sequence[str], *, here: Here = HERE, announce: Say = lambda what: None
) -> Iterator[Rebenched]:
    """Measure each of these kernels (full ids) once more; what is found is stored before the next kernel's turn.

    Inputs and processes are new. The first kernel of each problem and language is launched in turn with the others of
    the same. Raises UsageError for a kernel without source, MachineError where no device here runs it, both before
    anything is measured.
    """
    groups: dict[tuple[str, str], list[_Due]] = {}
    for kernel in dict.fromkeys(kernels):
        due = _due(archive, kernel, here)
        groups.setdefault((due.problem.digest, due.goal.language.name), []).append(due)
    for group in groups.values():
        yield from _measured(archive, group, announce)


@dataclass(frozen=True)
class _Due:
    """A kernel that is to be measured, and with what."""

    entry: Entry
    source: str
    run: Run
    problem: Problem
    then: Device
    goal: Target


@dataclass(frozen=True)
class _Judged:
    """One that was."""

    id: str
    built: Built
    now: Evaluation


def _due(archive: Archive, kernel: str, here: Here) -> _Due:
    run, found = archive.kernel(kernel)
    if found.source is None:
        raise UsageError(f"Kernel {kernel} has no source, since its answer held no code: there is nothing to measure.")
    entry = next(one for one in archive.entries(run.id) if one.kernel.id == kernel)
    then = archive.device(run.device)
    return _Due(entry, found.source, run, archive.problem(run.problem), then, _goal(entry, then, here))


def _goal(entry: Entry, then: Device, here: Here) -> Target:
    language = languages.named(entry.kernel.language)
    try:
        return target.at_hand(language, here)
    except MachineError as error:
        raise MachineError(
            f"Kernel {entry.kernel.id} is in {language.name} and was judged on {then.name}; no device of this machine "
            "runs it, and to measure again is to measure here. Take the archive to a machine that has one."
        ) from error


def _measured(archive: Archive, group: Sequence[_Due], announce: Say) -> Iterator[Rebenched]:
    """Kernels of one problem and language, in the order given."""
    goal, problem = group[0].goal, group[0].problem
    archive.save_device(goal.device)
    protocol = goal.protocol(problem, max(due.run.config.deadline_seconds for due in group))
    first: _Judged | None = None
    with Evaluator(problem, goal.language, protocol, goal.device, announce=announce) as evaluator:
        for due in group:
            announce(f"measuring {due.entry.kernel.id} again")
            built = evaluator.build(due.source)
            one = _Judged(due.entry.kernel.id, built, evaluator.judge(built))
            archive.save_remeasurement(Remeasurement(one.id, Purpose.REBENCH, one.now))
            compared = _compared(archive, evaluator, first, one) if first else None
            first = first or one
            yield Rebenched(due.entry, due.run, due.then, goal.device, one.now, compared)


def _compared(archive: Archive, evaluator: Evaluator, first: _Judged, second: _Judged) -> Comparison | Uncompared:
    against = next((why for one in (first, second) if (why := _against(one))), "")
    found = against or evaluator.duel(first.built, second.built)
    if isinstance(found, str):
        return Uncompared(first.id, second.id, found)
    compared = Comparison(first.id, second.id, evaluator.device.id, found.ratio, found.pairs, found.outcome)
    archive.save_comparison(compared)
    return compared


def _against(one: _Judged) -> str:
    """Why a kernel is not to be compared, or nothing."""
    if one.now.status is not Status.VERIFIED:
        return f"{one.id} is {str(one.now.status).replace('_', ' ')}, and only verified kernels compare"
    if Label.BACK_TO_BACK in one.now.labels:
        return f"the time of {one.id} is that of launches in a row, and launches in turn are single ones"
    return ""
