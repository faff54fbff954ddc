"""A person's word about a kernel: that it is suspect after all, or that it is not."""

from __future__ import annotations

from dataclasses import dataclass

from treesearch.archive import Archive, Finding, Kind
from treesearch.errors import UsageError
from treesearch.lineage import Reviewed, Standing, standing
from treesearch.records import Entry, Run, Status


@dataclass(frozen=True)
class Review:
    """What a finding changed."""

    run: Run
    entry: Entry
    """The kernel as it stands now."""
    others: tuple[Entry, ...]
    """Kernels of the run that it re-opened, or that stand again, as they stand now."""


def suspect(archive: Archive, kernel: str, reason: str) -> Review:
    """Call a verified kernel suspect. Raises UsageError, with the reason, for any other."""
    run, entry = _found(archive, kernel)
    if not entry.verified and standing(entry) is not Standing.REOPENED:
        raise UsageError(f"Kernel {entry.kernel.id} is {_said(entry)}; only a verified one can turn out to be suspect.")
    return _find(archive, run, entry, Kind.SUSPECT, reason)


def clear(archive: Archive, kernel: str, reason: str) -> Review:
    """Lift the suspicion from a kernel. Raises UsageError, with the reason, for one that is not suspect."""
    run, entry = _found(archive, kernel)
    if isinstance(entry, Reviewed) and entry.standing is Standing.REOPENED:
        raise UsageError(
            f"Kernel {entry.kernel.id} is not suspect, it is re-opened: {entry.reason}. Clear that one, or run the "
            "search again, which judges this one anew."
        )
    judged = entry.evaluation
    if judged is None or judged.status is not Status.SUSPECT:
        raise UsageError(f"Kernel {entry.kernel.id} is {_said(entry)}, so there is nothing to clear.")
    if judged.accuracy is None:
        raise UsageError(
            f"Kernel {entry.kernel.id} cannot be cleared: its answers were never found right, only its time doubted."
        )
    return _find(archive, run, entry, Kind.CLEARED, reason)


def _found(archive: Archive, kernel: str) -> tuple[Run, Entry]:
    run, found = archive.kernel(kernel)
    return run, {entry.kernel.id: entry for entry in archive.entries(run.id)}[found.id]


def _said(entry: Entry) -> str:
    return str(entry.evaluation.status).replace("_", " ") if entry.evaluation else "not judged yet"


def _find(archive: Archive, run: Run, entry: Entry, kind: Kind, reason: str) -> Review:
    if not reason.strip():
        raise UsageError("Say why with --reason; it is shown wherever the kernel is.")
    before = archive.entries(run.id)
    archive.save_finding(Finding(entry.kernel.id, kind, reason.strip()))
    after = archive.entries(run.id)
    changed = tuple(now for was, now in zip(before, after, strict=True) if standing(was) is not standing(now))
    now = next(one for one in after if one.kernel.id == entry.kernel.id)
    return Review(run, now, tuple(one for one in changed if one is not now))
