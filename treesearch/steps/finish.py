"""Measure the winner again, once it has won: a figure that its selection among many has not flattered."""

from __future__ import annotations

from collections.abc import Sequence

from treesearch.archive import Archive, Finding, Kind
from treesearch.archive.findings import EVALUATOR
from treesearch.evaluation.elsewhere import Elsewhere
from treesearch.events import Preparing
from treesearch.lineage import Lineage
from treesearch.records import Entry, Protocol, Purpose, Remeasurement, Status
from treesearch.steps.dispatch import dispatch_finals
from treesearch.steps.renew import renew
from treesearch.steps.task import Task

MOST = 3
"""Kernels that are measured again."""
CONVICTING = (Status.WRONG, Status.CRASHED, Status.BROKE_CONTRACT, Status.SUSPECT)
"""What no kernel is that was rightly verified. Deadlines and compilers depend on the machine as well."""


def finish(task: Task) -> None:
    """Measure the winner, and whoever may be as fast, in fresh processes and on fresh inputs; store it as final.

    What was stored by an earlier go is not measured again. A kernel that fails now is suspect, as it is whenever a
    later verdict says so, and the search then has another winner. Raises Waiting, with all that are due in one bundle,
    where their device is elsewhere.
    """
    while due := _due(task):
        if isinstance(task.evaluator, Elsewhere):
            raise dispatch_finals(task, due)
        task.observe(Preparing(f"measuring the fastest again, {len(due)} of them, on fresh inputs in fresh processes"))
        _measure(task, due)
        renew(task)


def contenders(lineage: Lineage) -> tuple[Entry, ...]:
    """The winner, and the next fastest as long as their intervals meet with its; each source once, MOST at most."""
    verified = lineage.verified()
    first = {entry.digest: entry for entry in reversed(verified)}
    fastest = [entry for entry in verified if first[entry.digest] is entry]
    return tuple(entry for entry in fastest[:MOST] if _reach(entry)[1] >= _reach(fastest[0])[0])


def is_final(measured: Remeasurement, device: str) -> bool:
    """Whether it is a final one on that device, by its id, and under today's protocol."""
    evaluation = measured.evaluation
    today = (evaluation.device, evaluation.protocol.version) == (device, Protocol.version)
    return measured.purpose is Purpose.FINAL and today


def _due(task: Task) -> tuple[Entry, ...]:
    found = contenders(task.lineage())
    stored = task.archive.remeasurements([entry.id for entry in found])
    done = {measured.kernel for measured in stored if is_final(measured, task.run.device)}
    return tuple(entry for entry in found if entry.id not in done)


def _measure(task: Task, due: Sequence[Entry]) -> None:
    measured = task.evaluator.remeasure([entry.kernel.source or "" for entry in due])
    for entry, evaluation in zip(due, measured, strict=True):
        store(task.archive, Remeasurement(entry.kernel.id, Purpose.FINAL, evaluation))


def store(archive: Archive, measured: Remeasurement) -> None:
    """A kernel's later measurement, and what it says about the kernel.

    The finding comes first: without the figure, only the figure would be missing.
    """
    evaluation = measured.evaluation
    if evaluation.status in CONVICTING:
        said = str(evaluation.status).replace("_", " ")
        reason = f"{said} when it was measured again: {evaluation.error}"
        archive.save_finding(Finding(measured.kernel, Kind.SUSPECT, reason, EVALUATOR))
    archive.save_remeasurement(measured)


def _reach(entry: Entry) -> tuple[float, float]:
    """The interval of the speed-up over eager, which was timed in turn with the kernel."""
    assert entry.evaluation is not None
    assert entry.evaluation.measurement is not None, "a verified kernel is timed"
    speedup = entry.evaluation.measurement.eager_speedup
    return speedup.low, speedup.high
