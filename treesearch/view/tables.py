"""Tables and panels for a terminal. Everything that models or compilers wrote passes through `text` first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from treesearch.archive import FailedAsk, Finding
from treesearch.lineage import Lineage, Standing, standing
from treesearch.problem import Listed
from treesearch.records import (
    Answer,
    Device,
    Entry,
    Evaluation,
    Proposal,
    Remeasurement,
    Request,
    Resources,
    Run,
    Spending,
    Stage,
    Status,
    Timing,
)
from treesearch.roofline import Floor
from treesearch.view import final, hardware, text
from treesearch.view.data import final_of, reference_percent

COLOURS = {Status.VERIFIED: "green", Status.SUSPECT: "yellow"}


def problems(listed: Iterable[Listed]) -> Table:
    table = bare_table("problem", "what it is")
    for problem in listed:
        table.add_row(Text(problem.name, style="bold"), Text(problem.summary))
    return table


def settings(rows: Iterable[tuple[str, str, str]]) -> Table:
    """Settings with their values, and where these come from."""
    table = bare_table("setting", "value", "from")
    for name, value, source in rows:
        table.add_row(Text(text.one_line(name)), Text(text.one_line(value)), Text(text.one_line(source), style="dim"))
    return table


def verdicts(rows: Iterable[tuple[str, Evaluation]]) -> Table:
    """One row for each judged file."""
    table = bare_table("file", "status", ">time", ">vs eager", ">vs torch.compile", ">worst error", "why")
    for name, judged in rows:
        measured = judged.measurement
        table.add_row(
            Text(text.one_line(name)),
            _status(judged.status),
            _spread(measured.kernel) if measured else "–",
            text.ratio(measured.eager_speedup if measured else None),
            text.ratio(measured.compile_speedup if measured else None),
            f"{judged.accuracy.worst_error:.1e}" if judged.accuracy else "–",
            Text(text.reason(judged, 160)),
        )
    return table


def trajectory(path: Sequence[Entry]) -> Table:
    """From the root to a kernel: what each step did to the time."""
    table = bare_table(">round", ">time", ">% of reference", "idea", "kernel")
    for entry in path:
        table.add_row(
            str(entry.kernel.round),
            text.milliseconds(entry.milliseconds) if entry.milliseconds else status_of(entry),
            text.percent(reference_percent(entry)),
            Text(_step_title(entry)),
            Text(entry.kernel.id, style="dim"),
            style=_row_style(entry),
        )
    return table


def baselines(entry: Entry) -> Text:
    """The winner's time beside both baselines, with intervals."""
    measured = entry.evaluation.measurement if entry.evaluation else None
    if measured is None:
        return Text("not timed")
    return final.figures(measured)


def winner(entry: Entry, measured: Sequence[Remeasurement], device: str) -> RenderableType:
    """The winner's figures: those measured after the selection, on the device of this id, and those of its verdict."""
    return Group(*_winning(baselines(entry), final_of(measured, entry.kernel.id, device)))


def _winning(figures: Text, again: Evaluation | None) -> list[RenderableType]:
    return [figures] if again is None else [*final.lines(again), Text("when it was judged: ").append_text(figures)]


def accuracy(entry: Entry) -> Text:
    judged = entry.evaluation
    if judged is None or judged.accuracy is None:
        return Text("")
    seen = judged.accuracy
    elements = "" if seen.elementwise is None else f" · elements of nominal calls within {seen.elementwise:.1e}"
    return Text(
        f"worst row error {seen.worst_error:.1e} (eager's own {seen.eager_error:.1e}, tolerance "
        f"{judged.protocol.tolerance:g}) over {seen.calls} checked calls{elements} · {seen.precision} · "
        f"{seen.oracle} oracle"
    )


def floor(entry: Entry, bound: Floor | None) -> Text:
    """The floor and how near a kernel comes to it; empty where the device was not measured."""
    if bound is None:
        return Text("")
    place = hardware.place(entry, bound)
    return Text(f"{hardware.floor(bound)}{f' · {text.milliseconds(entry.milliseconds)} is {place}' if place else ''}")


def run(
    found: Run,
    lineage: Lineage,
    device: Device,
    spent: Spending,
    bound: Floor | None = None,
    measured: Sequence[Remeasurement] = (),
) -> RenderableType:
    """A run at a glance: what it was, its winner, and every kernel round by round. `measured` are later measurements
    of its kernels."""
    fastest = lineage.fastest()
    counts = Counter(entry.evaluation.status for entry in lineage.entries if entry.evaluation)
    due = sum(entry.evaluation is None for entry in lineage.entries)
    told = [f"{count} {text.status(status)}" for status, count in counts.most_common()] + [f"{due} due"] * bool(due)
    tally = ", ".join(told) or "no kernels yet"
    models, language = text.one_line(", ".join(found.config.named_models)), text.one_line(found.config.language)
    head: list[RenderableType] = [
        Text.assemble(
            (text.one_line(found.problem_name), "bold"),
            f"  run {found.id} · {language} · {found.state} · {found.created[:16]}",
        ),
        Text(f"{hardware.device(device)} · {models} · {text.spend(spent, found.config.budget)}"),
    ]
    stopped = f"stopped: {text.one_line(found.stopped)}" if found.stopped else ""
    facts = (hardware.figures(device), hardware.floor(bound) if bound else "", tally, stopped)
    head += [Text(line) for line in facts if line]
    if fastest:
        place = hardware.place(fastest, bound)
        figures = baselines(fastest).append(f" · {place}" if place else "")
        again = final_of(measured, fastest.kernel.id, device.id)
        head += [Text.assemble(("winner ", "bold"), fastest.kernel.id), *_winning(figures, again), accuracy(fastest)]
    return Group(*head, "", _kernels(lineage))


def _kernels(lineage: Lineage) -> Table:
    table = bare_table(
        ">round", "slot", "kernel", "from", "status", ">time", ">vs eager", ">vs compile", "idea, or what went wrong"
    )
    for entry in lineage.entries:
        measured = entry.evaluation.measurement if entry.evaluation else None
        parent = lineage.parent(entry.kernel.id)
        failed = entry.evaluation is not None and not entry.verified
        why = text.reason(entry.evaluation) if entry.evaluation and failed else text.idea_title(entry)
        label = text.by_hand(entry.kernel.proposal)
        table.add_row(
            str(entry.kernel.round),
            entry.kernel.ordinal,
            Text(entry.kernel.id, style="dim"),
            Text(parent.kernel.id[:6] if parent else "", style="dim"),
            status_of(entry),
            text.milliseconds(entry.milliseconds),
            f"{measured.eager_speedup.value:.2f}×" if measured else "–",
            f"{measured.compile_speedup.value:.2f}×" if measured and measured.compile_speedup else "–",
            Text(f"{text.standing(entry) or why}{f' ({label})' if label else ''}"),
            style=_row_style(entry),
        )
    return table


def questions(answered: Sequence[tuple[Request, Answer]], failed: Sequence[FailedAsk]) -> RenderableType:
    """Questions about ideas with who answered them, and what could not be asked. Kernels name theirs themselves."""
    table = bare_table("ideas", ">round", "about", "answered by", "help")
    for request, answer in answered:
        if request.stage is Stage.IDEAS:
            by = text.one_line(answerer(answer), 60)
            about = Text(request.parent[:6], style="dim")
            table.add_row(request.id, str(request.round), about, Text(by), Text(text.one_line(answer.help, 40)))
    parts: list[RenderableType] = ["", table] if table.row_count else []
    if failed:
        parts += ["", Text(f"{len(failed)} attempts to ask failed; the last: {text.one_line(failed[-1].error, 120)}")]
    return Group(*parts)


def answerer(answer: Answer) -> str:
    """Who answered, or why nobody did."""
    return f"nobody: {answer.failure}" if answer.failure else answer.answered_by or answer.model


def resources(taken: Sequence[Resources]) -> RenderableType:
    """What the compiler says that each device function takes."""
    table = bare_table("device function", ">registers", ">spilled B", ">reloaded B", ">stack B", ">static shared B")
    for one in taken:
        counts = (one.registers, one.spill_store_bytes, one.spill_load_bytes, one.stack_bytes, one.shared_bytes)
        table.add_row(Text(text.one_line(one.function)), *map(str, counts))
    return table


def kernel(
    entry: Entry,
    lineage: Lineage,
    taken: Sequence[Resources] = (),
    bound: Floor | None = None,
    again: Evaluation | None = None,
) -> RenderableType:
    """One kernel: its idea, its verdict, what its device functions take, its source. `again` is its final
    measurement."""
    node, judged = entry.kernel, entry.evaluation
    parts: list[RenderableType] = [
        Text.assemble(
            (node.id, "bold"), f"  run {node.run} · round {node.round} · slot {node.ordinal} · ", status_of(entry)
        )
    ]
    if node.idea and node.proposal:
        title = f"{text.one_line(node.idea.title)} ({node.idea.category}, expected {node.idea.expected_speedup:g}×)"
        parts += [Text(title, style="bold"), *_decided(node.proposal), Text(text.visible(node.idea.mechanism))]
        if node.idea.refutation:
            parts.append(Text(f"refuted if: {text.visible(node.idea.refutation)}"))
    if inspired := lineage.inspirations(node.id):
        parts.append(Text(f"inspired by {', '.join(inspired)}"))
    if judged and judged.measurement:
        parts += [*_winning(baselines(entry), again), *([floor(entry, bound)] if bound else []), accuracy(entry)]
    if judged:
        parts += _beside(judged)
    if found := text.standing(entry):
        parts.append(Text(found, style="yellow"))
    if taken:
        parts.append(resources(taken))
    if judged and judged.error:
        parts.append(Panel(Text(text.visible(judged.error)), title="what went wrong", title_align="left"))
    if node.answer:
        parts.append(Text(f"--prompt and --answer print what was asked and said (answer {node.answer})", style="dim"))
    if node.source is not None:
        parts.append(Syntax(text.visible(node.source), node.language, line_numbers=True, word_wrap=True))
    path = lineage.path(node.id)
    if len(path) > 1:
        parts += [Text("how it came about", style="bold"), trajectory(path)]
    return Group(*parts)


def _decided(proposal: Proposal) -> list[Text]:
    """The idea's id, and what a person has done with it: who, when and why."""
    lines = [Text(f"idea {proposal.id}", style="dim")]
    for one in proposal.decisions:
        why = f": {text.one_line(one.reason)}" if one.reason else ""
        lines.append(Text(f"{text.HAND[one.verb]} ({text.one_line(one.by)}, {one.created[:16]}){why}", style="yellow"))
    return lines


def history(
    verdicts: Sequence[Evaluation], findings: Sequence[Finding], measured: Sequence[Remeasurement] = ()
) -> RenderableType:
    """Verdicts on a kernel, later measurements and what was found out since, in order, where there is more than one
    verdict to tell."""
    rows = [(one.created, _status(one.status), _time(one)) for one in verdicts]
    rows += [
        (one.evaluation.created, _status(one.evaluation.status).append(f", {one.purpose}"), _time(one.evaluation))
        for one in measured
    ]
    rows += [
        (one.created, Text(f"found {one.kind} by {text.one_line(one.by, 40)}"), text.one_line(one.reason, 160))
        for one in findings
    ]
    if len(rows) < 2:
        return Text("")
    table = bare_table("when", "verdict", "")
    for created, what, detail in sorted(rows, key=lambda row: row[0]):
        table.add_row(created[:19], what, Text(detail))
    return table


def _time(judged: Evaluation) -> str:
    return text.milliseconds(judged.milliseconds) if judged.measurement else ""


def _beside(judged: Evaluation) -> list[RenderableType]:
    """What a reader should know of a verdict beside its status."""
    lines = {"labels": text.labels(judged), "sandbox": text.one_line(judged.sandbox)}
    return [Text(f"{name}: {line}") for name, line in lines.items() if line]


def checks(rows: Iterable[tuple[str, bool | None, str]]) -> Table:
    """Doctor's findings: what was looked at, whether it is there (None: optional and absent), and the detail."""
    table = bare_table("", "what", "found")
    marks = {True: Text("✓", style="green"), False: Text("✗", style="red"), None: Text("–", style="dim")}
    for what, state, detail in rows:
        table.add_row(marks[state], what, Text(text.one_line(detail, 300)))
    return table


def _spread(timing: Timing) -> str:
    low, high = timing.quartiles
    return f"{text.milliseconds(timing.median)} ({text.figure(low)}–{text.figure(high)})"


def bare_table(*columns: str) -> Table:
    """A table without a frame; a column whose name starts with > is set flush right."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        right = column.startswith(">")
        table.add_column(column.lstrip(">"), justify="right" if right else "left", no_wrap=right, overflow="fold")
    return table


def _status(status: Status) -> Text:
    return Text(text.status(status), style=COLOURS.get(status, "red"))


def status_of(entry: Entry) -> Text:
    if entry.evaluation:
        return _status(entry.evaluation.status)
    return Text(str(standing(entry) or "due"), style="dim")


def _row_style(entry: Entry) -> str:
    """Dim for what does not count."""
    suspect = entry.evaluation is not None and entry.evaluation.status is Status.SUSPECT
    return "dim" if suspect or standing(entry) is Standing.REOPENED else ""


def _step_title(entry: Entry) -> str:
    notes = ["repaired"] if "r" in entry.kernel.ordinal else []
    notes += [label] if (label := text.by_hand(entry.kernel.proposal)) else []
    notes += [found] if (found := text.standing(entry)) else []
    return f"{text.idea_title(entry)} ({'; '.join(notes)})" if notes else text.idea_title(entry)
