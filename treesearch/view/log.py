"""Why a kernel is what it is: first what became of it and why, then everything that led there, in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from treesearch import feedback
from treesearch.archive import Archive, FailedAsk, Finding
from treesearch.feedback.figures import excerpt
from treesearch.languages import named
from treesearch.lineage import Lineage
from treesearch.records import (
    Answer,
    Comparison,
    Device,
    Entry,
    Evaluation,
    Problem,
    Relation,
    Remeasurement,
    Request,
    Run,
    Spending,
    Stage,
    Status,
    Turn,
)
from treesearch.view import data, final, tables, text, turns
from treesearch.view.data import Json

SHORT, LONG = 1200, 4000
"""Characters that are shown of prompts and answers, and of all else, unless all is wanted."""
ASKED = {Stage.IDEAS: "asked for ideas", Stage.KERNEL: "asked for the kernel", Stage.REPAIR: "asked for a repair"}


@dataclass(frozen=True)
class Exchange:
    """A question with its answer, and what came between them."""

    request: Request
    answer: Answer
    failed: tuple[FailedAsk, ...]
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Told:
    """All that an archive holds of a kernel."""

    run: Run
    problem: Problem
    device: Device
    lineage: Lineage
    entry: Entry
    proposed: Exchange | None
    """None where no idea was asked for, or a person had it."""
    written: Exchange | None
    verdicts: tuple[Evaluation, ...]
    findings: tuple[Finding, ...]
    measured: tuple[Remeasurement, ...]
    compared: tuple[Comparison, ...]


@dataclass(frozen=True)
class Step:
    """Something that happened; `text` is what was said of it, as it was said."""

    title: str
    text: str
    when: str = ""
    """ISO 8601, UTC; empty where that is not known."""
    shown: int = LONG
    """Characters of it that are shown where it is shortened."""


def read(store: Archive, run: Run, kernel: str) -> Told:
    lineage = store.lineage(run.id)
    entry = lineage.entry(kernel)
    failed = store.failed_asks(run.id)
    proposal = entry.kernel.proposal
    return Told(
        run,
        store.problem(run.problem),
        store.device(run.device),
        lineage,
        entry,
        _exchange(store, proposal.answer, failed) if proposal else None,
        _exchange(store, entry.kernel.answer, failed),
        store.evaluations(kernel),
        store.findings(kernel),
        store.remeasurements([kernel]),
        store.comparisons(kernel),
    )


def _exchange(store: Archive, id: str, failed: tuple[FailedAsk, ...]) -> Exchange | None:
    found = store.exchange(id) if id else None
    return Exchange(*found, tuple(one for one in failed if one.request == id), store.turns(id)) if found else None


# ── what became of it ───────────────────────────────────────────────────────────────────────────


def became(told: Told) -> Iterator[str]:
    """What became of the kernel, why, and what was made of it: what a reader wants to know first."""
    entry, lineage = told.entry, told.lineage
    place = f"round {entry.kernel.round}, slot {entry.kernel.ordinal}"
    yield f"{_verdict(entry)} · {text.one_line(told.run.problem_name, 60)}, run {told.run.id}, {place}"
    if reviewed := text.standing(entry):
        yield reviewed
    if entry.evaluation and entry.evaluation.error:
        yield entry.evaluation.error
    for repair in lineage.children(entry.kernel.id, (Relation.REPAIRS,)):
        yield f"repaired by {_verdict(repair)}"
    if parent := lineage.parent(entry.kernel.id):
        yield f"{lineage.relation(entry.kernel.id)} {_verdict(parent)}"
    if inspired := lineage.inspirations(entry.kernel.id):
        yield f"inspired by {', '.join(inspired)}"


def _verdict(entry: Entry) -> str:
    """`839f22ee8834: verified, 0.213 ms, 2.12×`."""
    judged = entry.evaluation
    parts = [text.status(judged.status) if judged else tables.status_of(entry).plain]
    if judged and judged.measurement:
        parts += [text.milliseconds(judged.milliseconds), f"{judged.measurement.speedup.value:.2f}×"]
    return f"{entry.kernel.id}: {', '.join(parts)}"


# ── what led there ──────────────────────────────────────────────────────────────────────────────


def steps(told: Told) -> Iterator[Step]:
    """Everything that happened to the kernel, in order."""
    if told.proposed:
        yield from _asked(told.proposed)
    yield from _idea(told.entry)
    if told.written:
        yield from _asked(told.written)
    for number, judged in enumerate(told.verdicts):
        yield from _judged(told, judged, again=number > 0)
    later = *map(_found, told.findings), *map(_measured, told.measured), *map(_compared, told.compared)
    yield from sorted(later, key=lambda step: step.when)


def _asked(exchange: Exchange) -> Iterator[Step]:
    request, answer = exchange.request, exchange.answer
    yield Step(f"{ASKED[request.stage]} ({request.id})", request.prompt, shown=SHORT)
    for failed in exchange.failed:
        yield Step(f"{failed.model} did not answer", _joined(failed.error, failed.text), failed.created)
    if exchange.turns:
        yield Step("builds on the way", turns.text(exchange.turns))
    took = text.spend(Spending.of(answer.usage)), f"{answer.seconds:.0f} s" if answer.seconds else ""
    title = f"answered by {tables.answerer(answer)} ({', '.join(filter(None, took))})"
    yield Step(title, answer.text, answer.created, SHORT)


def _idea(entry: Entry) -> Iterator[Step]:
    proposal = entry.kernel.proposal
    if proposal is None:
        return
    idea = proposal.idea
    about = f"{idea.category}, {idea.expected_speedup:g}× expected"
    risk = f"risk: {idea.risk}" if idea.risk else ""
    refuted = f"refuted if: {idea.refutation}" if idea.refutation else ""
    yield Step(f"idea {proposal.id}: {idea.title}", _joined(about, idea.mechanism, risk, refuted))
    for one in proposal.decisions:
        yield Step(f"{text.HAND[one.verb]} ({one.by})", one.reason, one.created)


def _judged(told: Told, judged: Evaluation, *, again: bool) -> Iterator[Step]:
    failed = judged.status is Status.BUILD_FAILED
    if build := judged.build:
        said = _joined(build.command, build.log)
        cached = "from the cache" if build.cached else f"{build.seconds:.1f} s"
        yield Step(f"{'did not build' if failed else 'built'} ({cached})", said)
    figures = final.figures(judged.measurement).plain if judged.measurement else ""
    where = "" if judged.device == told.device.id else f" on another device, {judged.device}"
    title = f"judged{' again' if again else ''}{where}: {text.status(judged.status)}"
    error = "" if failed and judged.build else judged.error
    yield Step(title, _joined(figures, error, text.labels(judged), judged.sandbox), judged.created)
    if not failed and (profile := _profile(told, judged)):  # that of one that did not build repeats the compiler
        yield Step("profile", profile)


def _profile(told: Told, judged: Evaluation) -> str:
    """What is known of a verdict; of one on another device, what was stored with it."""
    if judged.device != told.device.id:
        return judged.profile
    return feedback.known(told.problem, named(told.entry.kernel.language), told.device, judged)


def _found(finding: Finding) -> Step:
    return Step(f"found {finding.kind} by {finding.by}", finding.reason, finding.created)


def _measured(measured: Remeasurement) -> Step:
    judged = measured.evaluation
    figures = final.figures(judged.measurement).plain if judged.measurement else ""
    title = f"measured again ({measured.purpose}): {text.status(judged.status)}"
    return Step(title, _joined(figures, judged.error), judged.created)


def _compared(found: Comparison) -> Step:
    title = f"compared: {found.first} is {found.outcome} against {found.second}"
    return Step(title, f"{text.ratio(found.ratio)} as fast, launched in turn in {found.pairs} pairs", found.created)


def _joined(*parts: str) -> str:
    return "\n".join(filter(None, parts))


# ── on a terminal, and as JSON values ───────────────────────────────────────────────────────────


def printed(told: Told, *, full: bool) -> RenderableType:
    """What became of the kernel, then a heading and a text for each step, shortened unless `full` is set."""
    first, *others = became(told)
    status = told.entry.evaluation.status if told.entry.evaluation else None
    colour = tables.COLOURS.get(status, "red") if status else "yellow"
    parts: list[RenderableType] = [Text(text.visible(first), style=f"bold {colour}")]
    parts += [_body(other, None if full else LONG) for other in others]
    for step in steps(told):
        heading = Text(f"\n{text.one_line(step.title)}", style="bold cyan")
        body = _body(step.text, None if full else step.shown)
        parts += [
            heading.append(f"  {step.when[:19]}", style="not bold dim"),
            Padding(body, (0, 0, 0, 2), expand=False),
        ]
    hint = "" if full else "--full prints every text whole; treesearch diff and treesearch show print the code"
    return Group(*parts, *([Text(f"\n{hint}", style="dim")] if hint else []))


def _body(said: str, most: int | None) -> Text:
    return Text(text.visible(said if most is None else excerpt(said, most)).strip("\n"))


def as_json(told: Told) -> Json:
    """`became` says why the kernel is what it is; every text of `steps` is whole."""
    happened = [{"title": step.title, "when": step.when or None, "text": step.text} for step in steps(told)]
    return {**data.entry(told.entry, told.lineage), "became": list(became(told)), "steps": happened}
