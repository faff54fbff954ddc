"""What the page of a kernel says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from treesearch import feedback, roofline
from treesearch.archive import Finding
from treesearch.languages import LANGUAGES
from treesearch.pages import code
from treesearch.pages.runs import Row, judged
from treesearch.pages.study import Study
from treesearch.records import (
    Answer,
    Device,
    Evaluation,
    Kernel,
    Problem,
    Purpose,
    Remeasurement,
    Request,
    Resources,
    Turn,
)
from treesearch.view import text
from treesearch.view.data import final_of


@dataclass(frozen=True)
class Exchange:
    """What a model was asked, what it built on the way, and what it said."""

    request: Request
    answer: Answer
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Roof:
    """How much of one measured limit of the device a kernel reaches."""

    name: str
    reached: float
    """Bytes or operations a second."""
    limit: float
    unit: str

    @property
    def share(self) -> float:
        return self.reached / self.limit


@dataclass(frozen=True)
class Event:
    """Something that was found out about a kernel, at a time."""

    created: str
    what: str
    detail: str


@dataclass(frozen=True)
class KernelPage:
    """Everything that the page of a kernel tells."""

    study: Study
    kernel: Kernel
    row: Row
    parent: Row | None
    parent_source: str
    children: tuple[Row, ...]
    path: tuple[Row, ...]
    judged: Evaluation | None
    """The newest stored verdict on the run's device."""
    final: Evaluation | None
    events: tuple[Event, ...]
    implemented: Exchange | None
    """The question and answer that hold the code."""
    proposed: Exchange | None
    """The question and answer that hold the idea."""

    @cached_property
    def diff(self) -> tuple[code.Line, ...]:
        return code.compared(self.parent_source, self.kernel.source or "") if self.parent_source else ()

    @cached_property
    def source(self) -> str:
        """HTML."""
        return code.highlighted(self.kernel.source or "", self.kernel.language)

    @cached_property
    def roofs(self) -> tuple[Roof, ...]:
        time = self.row.milliseconds
        return _roofs(self.study.problem, self.study.device, time) if time else ()

    @cached_property
    def resources(self) -> tuple[Resources, ...]:
        return feedback.resources(self.kernel, self.judged)

    @cached_property
    def profile(self) -> str:
        """What a model gets to read of the verdict."""
        language = LANGUAGES.get(self.kernel.language)
        if self.judged is None or language is None:
            return ""
        return feedback.known(self.study.problem, language, self.study.device, self.judged)


def page(study: Study, kernel: Kernel) -> KernelPage:
    """The page of a kernel of that run, as the archive returned it: with its source."""
    archive, lineage = study.archive, study.lineage
    measured, parent = archive.remeasurements([kernel.id]), lineage.parent(kernel.id)
    verdicts = archive.evaluations(kernel.id)
    return KernelPage(
        study=study,
        kernel=kernel,
        row=Row(lineage.entry(kernel.id), lineage),
        parent=Row(parent, lineage) if parent else None,
        parent_source=(archive.kernel(parent.kernel.id)[1].source or "") if parent else "",
        children=tuple(Row(child, lineage) for child in lineage.children(kernel.id)),
        path=tuple(Row(entry, lineage) for entry in lineage.path(kernel.id)),
        judged=judged(study, kernel.id),
        final=final_of(measured, kernel.id, study.device.id),
        events=_events(verdicts, archive.findings(kernel.id), measured),
        implemented=_exchange(study, kernel.answer),
        proposed=_exchange(study, kernel.proposal.answer) if kernel.proposal else None,
    )


def _exchange(study: Study, id: str) -> Exchange | None:
    found = study.archive.exchange(id) if id else None
    return Exchange(*found, study.archive.turns(id)) if found else None


def _roofs(problem: Problem, device: Device, milliseconds: float) -> tuple[Roof, ...]:
    """The compulsory traffic beside the measured bandwidth, and the reference's operations beside the best rate."""
    seconds, found = milliseconds / 1e3, []
    if device.bandwidth:
        moved = problem.bytes_read + problem.bytes_written
        found.append(Roof("memory bandwidth", moved / seconds, device.bandwidth, "B/s"))
    best = roofline.fastest_rate(problem, device)
    if problem.flops and best:
        found.append(Roof(f"{best.precision} matrix products", problem.flops / seconds, best.flops, "FLOP/s"))
    return tuple(found)


def _events(
    verdicts: Sequence[Evaluation], findings: Sequence[Finding], measured: Sequence[Remeasurement]
) -> tuple[Event, ...]:
    """Verdicts, later measurements and findings, oldest first."""
    events = [Event(one.created, text.status(one.status), text.milliseconds(one.milliseconds)) for one in verdicts]
    events += [_again(one) for one in measured]
    events += [Event(one.created, f"found {one.kind} by {one.by}", one.reason) for one in findings]
    return tuple(sorted(events, key=lambda event: event.created))


def _again(measured: Remeasurement) -> Event:
    judged = measured.evaluation
    why = "measured after the selection" if measured.purpose is Purpose.FINAL else "measured again"
    return Event(judged.created, f"{why}: {text.status(judged.status)}", text.milliseconds(judged.milliseconds))
