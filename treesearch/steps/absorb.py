"""Take in verdicts that came from another machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from treesearch.archive import Archive
from treesearch.errors import UsageError
from treesearch.evaluation import results
from treesearch.evaluation.results import Header, Results, Verdict
from treesearch.evaluation.target import protocol
from treesearch.records import Device, Purpose, Remeasurement, Run
from treesearch.steps import dispatch, finish


@dataclass(frozen=True)
class Absorbed:
    """A results file that was taken in."""

    path: Path
    header: Header
    verdicts: tuple[Verdict, ...]
    fresh: int | None
    """How many verdicts the archive did not hold before; None for kernels of no run, which are not stored."""


def absorb(archive: Archive, paths: Sequence[Path]) -> list[Absorbed]:
    """Check every file, then store what all of them say. Raises UsageError, and stores nothing, if any is refused."""
    read = [(path, results.read(path)) for path in paths]
    for path, found in read:
        try:
            _check(archive, found)
        except ValueError as reason:
            raise UsageError(f"Nothing is taken from {path}: {reason}.") from reason
    return [Absorbed(path, found.header, found.verdicts, _store(archive, found)) for path, found in read]


def _check(archive: Archive, found: Results) -> None:
    """Raises ValueError with the reason unless a run of the archive waits for such verdicts."""
    if not found.header.run:
        return
    run = _run(archive, found.header.run)
    _compare(found.header, run, archive)
    sources = {entry.kernel.id: entry.kernel.digest for entry in archive.entries(run.id)}
    for verdict in found.verdicts:
        kernel, ordinal = dispatch.judged(verdict.kernel)
        if kernel not in sources:
            raise ValueError(f"run {run.id} has no kernel {kernel}")
        if sources[kernel] != verdict.source:
            raise ValueError(f"kernel {kernel} has another source in the archive than the one that was judged")
        if ordinal > 1 + len(archive.evaluations(kernel)):
            raise ValueError(f"it holds verdict {ordinal} on kernel {kernel}, and the archive lacks those before it")


def _run(archive: Archive, id: str) -> Run:
    for run in archive.runs():
        if run.id == id:
            return run
    raise ValueError(f"it is about run {id}, which is not in {archive.url}; name that run's with --archive")


def _compare(header: Header, run: Run, archive: Archive) -> None:
    if header.problem != run.problem:
        raise ValueError(f"it is about another problem ({header.problem_name}) than run {run.id} ({run.problem_name})")
    if header.language != run.config.language:
        raise ValueError(f"its kernels are in {header.language}, and run {run.id} is in {run.config.language}")
    wanted = archive.device(run.device)
    if header.device.id != wanted.id:
        raise ValueError(f"it was judged on {_named(header.device)}, and run {run.id} is about {_named(wanted)}")
    expected = protocol(archive.problem(run.problem), run.config.deadline_seconds, wanted)
    if header.protocol.id != expected.id:
        raise ValueError(f"it was judged by another protocol ({header.protocol.id}) than run {run.id} ({expected.id})")


def _named(device: Device) -> str:
    return f"{device.name} ({device.id})"


def _store(archive: Archive, found: Results) -> int | None:
    """How many verdicts are new. One by one, so that what was stored stays if this is cut short."""
    if not found.header.run:
        return None
    archive.save_device(found.header.device)
    purpose = found.header.purpose
    return sum(
        _store_verdict(archive, verdict) if purpose is None else _store_measured(archive, verdict, purpose)
        for verdict in found.verdicts
    )


def _store_verdict(archive: Archive, verdict: Verdict) -> bool:
    kernel, ordinal = dispatch.judged(verdict.kernel)
    return archive.save_evaluation(kernel, verdict.evaluation, ordinal)


def _store_measured(archive: Archive, verdict: Verdict, purpose: Purpose) -> bool:
    """Whether it is new: of one kernel, no two are of the same time."""
    kernel, _ = dispatch.judged(verdict.kernel)
    if any(one.evaluation.created == verdict.evaluation.created for one in archive.remeasurements([kernel])):
        return False
    finish.store(archive, Remeasurement(kernel, purpose, verdict.evaluation))
    return True
