"""What searches came to: of each problem and device the newest run's winner, beside torch, the floor, others' kernels.

The figures are those of the final measurement, taken after the selection; where there is none yet, those of the
verdict, and they are marked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Group, RenderableType
from rich.text import Text

from treesearch.archive import Archive
from treesearch.lineage import Lineage
from treesearch.problem.published import Published, published
from treesearch.records import Device, Entry, Evaluation, Measurement, Run, RunState
from treesearch.roofline import Floor, floor
from treesearch.view import data, hardware, text
from treesearch.view.data import Json
from treesearch.view.tables import bare_table

LEAST_WIDTH = 5
PRECISE = 1e-4
"""What every element of a nominal call of a precise kernel is within: KernelBench's tolerance for float32."""
EARLY = "*"
"""Marks figures of a verdict, which the selection may have flattered."""


@dataclass(frozen=True)
class Result:
    """A run's winner with what it is measured by."""

    run: Run
    device: Device
    winner: Entry
    evaluation: Evaluation
    """The final measurement, or the verdict where there is none."""
    final: bool
    precise: Entry | None
    """The fastest kernel that is known to be within PRECISE."""
    judged: int
    verified: int
    floor: Floor | None
    published: Published | None

    @property
    def measured(self) -> Measurement:
        assert self.evaluation.measurement is not None, "a verified kernel is timed"
        return self.evaluation.measurement

    @property
    def milliseconds(self) -> float:
        return self.measured.kernel.median


def newest(stores: Iterable[Archive]) -> tuple[tuple[Archive, Run], ...]:
    """Of each problem, on each device, the newest run with a verified kernel; in the order of devices and names."""
    found: dict[tuple[str, str], tuple[Archive, Run]] = {}
    for store in stores:
        ended = [summary.run for summary in store.summaries() if summary.fastest]
        for run in sorted(ended, key=lambda run: run.created, reverse=True):
            found.setdefault((run.device, run.problem_name), (store, run))
    return tuple(found[key] for key in sorted(found))


def of(store: Archive, run: Run) -> Result | None:
    """What a run of an archive came to; None where it has no verified kernel."""
    lineage = store.lineage(run.id)
    winner = lineage.fastest()
    if winner is None or winner.evaluation is None:
        return None
    problem, device = store.problem(run.problem), store.device(run.device)
    again = data.final_of(store.remeasurements([winner.kernel.id]), winner.kernel.id, run.device)
    final = again is not None and not again.error
    return Result(
        run,
        device,
        winner,
        again if again is not None and final else winner.evaluation,
        final,
        _precise(lineage),
        sum(entry.evaluation is not None for entry in lineage.entries),
        len(lineage.verified()),
        floor(problem, device),
        published(problem, device),
    )


def _precise(lineage: Lineage) -> Entry | None:
    return next((entry for entry in lineage.verified() if _error(entry) <= PRECISE), None)


def _error(entry: Entry) -> float:
    """Infinity where it was not looked at."""
    seen = entry.evaluation.accuracy if entry.evaluation else None
    return math.inf if seen is None or seen.elementwise is None else seen.elementwise


# ── in words ────────────────────────────────────────────────────────────────────────────────────

TIMES = ("problem", ">eager", ">compile", ">winner", ">speed-up", ">of the floor")
OTHERS = ("problem", "fastest torch that passes", ">over it", ">published", ">best within 1e-4")
KERNELS = ("problem", "kernel", ">round", ">verified", ">row error", ">eager's", "precision")


def _times(one: Result) -> tuple[str, ...]:
    measured = one.measured
    return (
        one.run.problem_name,
        text.milliseconds(measured.eager.median),
        text.milliseconds(measured.compile.median if measured.compile else None),
        f"{text.milliseconds(one.milliseconds)}{'' if one.final else EARLY}",
        text.ratio(measured.speedup),
        text.percent(100 * one.floor.milliseconds / one.milliseconds if one.floor else None),
    )


def _others(one: Result) -> tuple[str, ...]:
    torch = one.measured.fastest_torch if one.final else None
    time = text.milliseconds(torch.timing.median if torch and torch.timing else None)
    wins = one.precise is not None and one.precise.kernel.id == one.winner.kernel.id
    return (
        one.run.problem_name,
        f"{torch.name}, {time}" if torch else "–",
        text.ratio(torch.speedup if torch else None),
        _beside(one, one.published.milliseconds if one.published else None),
        "the winner" if wins else _beside(one, one.precise.milliseconds if one.precise else None),
    )


def _kernels(one: Result) -> tuple[str, ...]:
    seen = one.evaluation.accuracy
    return (
        one.run.problem_name,
        one.winner.kernel.id,
        f"{one.winner.kernel.round} of {one.run.config.rounds}",
        f"{one.verified} of {one.judged}, {text.percent(100 * one.verified / one.judged)}",
        f"{seen.worst_error:.1e}" if seen else "–",
        f"{seen.eager_error:.1e}" if seen else "–",
        seen.precision if seen else "–",
    )


PARTS = ((TIMES, _times), (OTHERS, _others), (KERNELS, _kernels))


def _beside(one: Result, milliseconds: float | None) -> str:
    """Another kernel's time, and its own speed-up over the better of eager and torch.compile."""
    if milliseconds is None:
        return "–"
    better = one.milliseconds * one.measured.speedup.value
    return f"{text.milliseconds(milliseconds)}, {better / milliseconds:.2f}×"


def _notes(found: Sequence[Result]) -> Iterator[str]:
    yield "The speed-up is over the better of eager and torch.compile at their defaults; intervals are 95 %."
    if not all(one.final for one in found):
        yield f"{EARLY} from the verdict: not yet measured after the selection, nor beside torch under other settings."
    yield "The row error is the largest ‖error‖ ÷ ‖reference‖ of a row over all checked calls, on hard inputs too."
    if going := [one.run.problem_name for one in found if one.run.state is not RunState.DONE]:
        yield f"Still going on: {', '.join(map(text.one_line, going))}."
    if makers := dict.fromkeys(one.published.by for one in found if one.published):
        yield f"Published kernels ({'; '.join(makers)}) were measured on the same kind of device, not in the same run."


def table(found: Sequence[Result]) -> RenderableType:
    """Three tables for each device: times, what else there is to compare with, and what the winners are."""
    parts: list[RenderableType] = []
    for device, group in _by_device(found):
        parts += [Text(device, style="bold"), ""]
        for columns, cells in PARTS:
            rows = bare_table(*columns)
            for column in rows.columns:
                column.min_width = LEAST_WIDTH
            for one in group:
                rows.add_row(*(Text(text.one_line(cell, 80)) for cell in cells(one)))
            parts += [rows, ""]
        parts += [Text(note, style="dim") for note in _notes(group)]
        parts.append("")
    return Group(*parts[:-1])


def markdown(found: Sequence[Result]) -> str:
    """The same tables."""
    lines: list[str] = []
    for device, group in _by_device(found):
        lines += [f"**{text.escaped(device)}**", ""]
        for columns, cells in PARTS:
            lines.append(_row(column.lstrip(">") for column in columns))
            lines.append(f"|{'|'.join('---:' if column.startswith('>') else '---' for column in columns)}|")
            lines += [_row(map(text.escaped, cells(one))) for one in group]
            lines.append("")
        lines += [f"{' '.join(text.escaped(note) for note in _notes(group))}", ""]
    return "\n".join(lines[:-1]) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _by_device(found: Sequence[Result]) -> Iterator[tuple[str, list[Result]]]:
    for _, group in groupby(found, key=lambda one: one.device.id):
        members = list(group)
        yield hardware.device(members[0].device), members


# ── as JSON values ──────────────────────────────────────────────────────────────────────────────


def as_json(found: Sequence[Result]) -> list[Json]:
    """One object a problem and device. `final` says whether the figures were taken after the selection; `speedup` is
    over the better of eager and torch.compile, `precise` the fastest kernel known to be within 1e-4 of the answer."""
    return [_json(one) for one in found]


def _json(one: Result) -> Json:
    return {
        "problem": one.run.problem_name,
        "run": one.run.id,
        "state": str(one.run.state),
        "device_name": one.device.name,
        "kernel": one.winner.kernel.id,
        "round": one.winner.kernel.round,
        "rounds": one.run.config.rounds,
        "candidates": one.judged,
        "verified": one.verified,
        "verified_rate": one.verified / one.judged,
        "final": one.final,
        **data.evaluation(one.evaluation),
        **data.floor(one.floor),
        "floor_percent": 100 * one.floor.milliseconds / one.milliseconds if one.floor else None,
        "precise": _other(one.precise),
        "published_milliseconds": one.published.milliseconds if one.published else None,
        "published_by": one.published.by if one.published else None,
    }


def _other(entry: Entry | None) -> Json | None:
    if entry is None:
        return None
    measured = entry.evaluation.measurement if entry.evaluation else None
    return {
        "kernel": entry.kernel.id,
        "milliseconds": entry.milliseconds,
        "speedup": measured.speedup.value if measured else None,
        "elementwise_error": _error(entry),
    }
