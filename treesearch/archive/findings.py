"""What was found out about a kernel after its verdict, and which verdicts count since.

Nothing stored is edited: findings are appended, and verdicts are given anew. What counts is worked out when kernels are
read, from a kernel's newest verdict, the newest finding about it, and those about the kernels that it came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from treesearch.archive import schema as s
from treesearch.archive import verdicts
from treesearch.lineage import Reviewed, Standing
from treesearch.records import Entry, Evaluation, Kernel, Status

EVALUATOR = "evaluator"
PERSON = "person"


class Kind(StrEnum):
    SUSPECT = "suspect"
    CLEARED = "cleared"


@dataclass(frozen=True)
class Finding:
    """Somebody's word about a kernel, later than its first verdict."""

    kernel: str
    kind: Kind
    reason: str
    by: str = PERSON
    """`person` or `evaluator`."""
    created: str = ""
    """ISO 8601, UTC; empty until stored."""


@dataclass(frozen=True)
class Verdict:
    """A stored evaluation with its place among those of its kernel on its device."""

    evaluation: Evaluation
    ordinal: int
    """From 1."""
    stored: str
    """When this archive, or the one that it was merged from, took it in: ISO 8601, UTC."""


def verdict_of(row: s.EvaluationRow) -> Verdict:
    return Verdict(verdicts.evaluation_of(row), row.ordinal, row.stored)


def finding_row(finding: Finding) -> s.FindingRow:
    return s.FindingRow(
        kernel=finding.kernel,
        kind=finding.kind,
        reason=finding.reason,
        by=finding.by,
        created=finding.created,
    )


def finding_of(row: s.FindingRow) -> Finding:
    return Finding(row.kernel, Kind(row.kind), row.reason, row.by, row.created)


def newest(findings: Iterable[Finding]) -> dict[str, Finding]:
    """The newest finding about each kernel, given all in the order they were made."""
    return {finding.kernel: finding for finding in findings}


def causes(latest: Mapping[str, Finding], edges: Iterable[tuple[str, str]]) -> dict[str, list[Finding]]:
    """For every kernel that came from one which is found suspect, directly or not: those findings.

    `edges` are (parent, child), whatever their relation.
    """
    suspects = [finding for finding in latest.values() if finding.kind is Kind.SUSPECT]
    children: dict[str, list[str]] = {}
    for parent, child in edges if suspects else ():
        children.setdefault(parent, []).append(child)
    found: dict[str, list[Finding]] = {}
    for finding in suspects:
        for kernel in _descendants(finding.kernel, children):
            found.setdefault(kernel, []).append(finding)
    return found


def _descendants(kernel: str, children: Mapping[str, Sequence[str]]) -> set[str]:
    seen: set[str] = set()
    ahead = list(children.get(kernel, ()))
    while ahead:
        child = ahead.pop()
        if child not in seen:
            seen.add(child)
            ahead += children.get(child, ())
    return seen - {kernel}


def weigh(kernel: Kernel, verdict: Verdict | None, own: Finding | None, above: Sequence[Finding] = ()) -> Entry:
    """The kernel with the verdict that counts.

    `own` is the newest finding about it, `above` are those that call suspect what it came from.
    """
    if verdict is None:
        return Entry(kernel)
    entry = _by_its_own(kernel, verdict, own)
    since = [finding for finding in above if _precedes(verdict, own, finding)]
    if not since or not entry.verified:
        return entry
    cause = max(since, key=lambda finding: finding.created)
    reason = f"{cause.kernel}, which it came from, was found suspect: {cause.reason}"
    return _reviewed(Entry(kernel), verdict, Standing.REOPENED, reason)


def _by_its_own(kernel: Kernel, verdict: Verdict, own: Finding | None) -> Entry:
    judged = verdict.evaluation
    if own is None or not judged.status.timed:
        return Entry(kernel, judged)
    if own.kind is Kind.SUSPECT:
        error = judged.error or f"found suspect by {_named(own)}: {own.reason}"
        doubted = Entry(kernel, replace(judged, status=Status.SUSPECT, error=error))
        return _reviewed(doubted, verdict, Standing.SUSPECT, own.reason)
    if judged.accuracy is None:  # nothing to trust: it was never compared with the reference
        return Entry(kernel, judged)
    good = Entry(kernel, replace(judged, status=Status.VERIFIED, error=""))
    return _reviewed(good, verdict, Standing.CLEARED, own.reason)


def _named(finding: Finding) -> str:
    return f"{'the' if finding.by == EVALUATOR else 'a'} {finding.by}"


def _precedes(verdict: Verdict, own: Finding | None, finding: Finding) -> bool:
    """Whether a verdict was given before a finding, as far as that can be known.

    The clock of the machine that judged may be wrong. A verdict given anew was asked for by this archive, so only the
    time counts at which it came; a first one may have been under way, so its own clock has a say.
    """
    if own is not None and own.kind is Kind.CLEARED and own.created > finding.created:
        return False
    under_way = verdict.ordinal == 1 and verdict.evaluation.created <= finding.created
    return under_way or verdict.stored <= finding.created


def _reviewed(entry: Entry, verdict: Verdict, standing: Standing, reason: str) -> Reviewed:
    judged, ordinal = verdict.evaluation, verdict.ordinal
    return Reviewed(entry.kernel, entry.evaluation, standing=standing, reason=reason, judged=judged, judgements=ordinal)
