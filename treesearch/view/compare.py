"""Runs side by side, as a table and as JSON values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from treesearch.meter import dollars
from treesearch.records import Device
from treesearch.view import hardware, text
from treesearch.view.data import Json
from treesearch.view.progressions import Axis, Progression, ticks
from treesearch.view.tables import bare_table

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Compared:
    """A run along an axis, with the device it ran on."""

    progression: Progression
    device: Device

    @property
    def speedup(self) -> float | None:
        """Of its winner, over the better of eager and torch.compile."""
        judged = self.progression.winner.evaluation if self.progression.winner else None
        return judged.measurement.speedup.value if judged and judged.measurement else None


def table(found: Sequence[Compared]) -> RenderableType:
    """One column a run: its best speed-up so far at places of the axis, then what it came to and what it took."""
    axis = found[0].progression.axis
    rows = bare_table(str(axis), *(f">{one.progression.run.id}" for one in found))
    for place, column in enumerate(rows.columns):
        column.no_wrap = place == 0
    for value in ticks([one.progression for one in found]):
        rows.add_row(_place(axis, value), *_leading([_so_far(one.progression, value) for one in found]))
    rows.add_row("in the end", *_leading([one.speedup for one in found]))
    rows.add_row()
    for name, said in _facts(found):
        rows.add_row(Text(name, style="dim"), *map(Text, map(said, found)))
    return Group(_head(found), "", rows, *_unknowns(found))


def _head(found: Sequence[Compared]) -> Text:
    """What the runs have in common, and what the figures are."""
    problems = dict.fromkeys(text.one_line(one.progression.run.problem_name, 60) for one in found)
    devices = dict.fromkeys(hardware.device(one.device) for one in found)
    over = "best speed-up so far, over the better of eager and torch.compile"
    return Text.assemble((", ".join(problems), "bold"), f" on {' / '.join(devices)}\n{over}")


def _so_far(progression: Progression, value: float) -> float | None:
    point = progression.at(value)
    return point.speedup if point else None


def _leading(speedups: Sequence[float | None]) -> list[Text]:
    """Each with two decimals, the highest of several bright."""
    known = [value for value in speedups if value is not None]
    best = max(known) if len(known) > 1 else None
    return [Text("–") if value is None else Text(f"{value:.2f}×", _style(value == best)) for value in speedups]


def _style(leads: bool) -> str:
    return "bold green" if leads else ""


def _place(axis: Axis, value: float) -> str:
    match axis:
        case Axis.DOLLARS:
            return dollars(value)
        case Axis.MINUTES:
            return text.figure(value) if value else "0"
        case _:
            return f"{value:.0f}"


def _facts(found: Sequence[Compared]) -> Iterator[tuple[str, Callable[[Compared], str]]]:
    """Rows of what is said of a whole run; problem, device and language where they differ."""
    differing: tuple[tuple[str, Callable[[Compared], str]], ...] = (
        ("problem", lambda one: text.one_line(one.progression.run.problem_name, 60)),
        ("device", lambda one: text.one_line(one.device.name, 60)),
        ("language", lambda one: text.one_line(one.progression.run.config.language, 20)),
    )
    yield from (row for row in differing if len({row[1](one) for one in found}) > 1)
    yield "winner", _winner
    yield "time", _time
    yield "verified", _verified
    yield "spent", lambda one: text.spend(one.progression.spent) or "nothing"
    yield "models", lambda one: text.one_line(", ".join(one.progression.run.config.named_models), 60)


def _winner(one: Compared) -> str:
    return one.progression.winner.kernel.id if one.progression.winner else "–"


def _time(one: Compared) -> str:
    return text.milliseconds(one.progression.winner.milliseconds if one.progression.winner else None)


def _verified(one: Compared) -> str:
    judged, verified = one.progression.judged, one.progression.verified
    return f"{verified} of {judged}, {text.percent(100 * verified / judged)}" if judged else "none judged"


def _unknowns(found: Sequence[Compared]) -> list[Text]:
    """Which runs have no place along the axis, and why."""
    told = [one.progression for one in found if one.progression.unknown]
    lines = [f"{one.run.id}: {one.axis} {UNKNOWN}, {one.unknown}; --axis names another" for one in told]
    return [Text(""), *(Text(line, style="yellow") for line in lines)] if lines else []


# ── as JSON values ──────────────────────────────────────────────────────────────────────────────


def as_json(found: Sequence[Compared]) -> Json:
    """`points` are the kernels that were faster than all before; `unknown` says why a run has none along this axis."""
    progressions = [one.progression for one in found]
    return {"axis": str(progressions[0].axis), "ticks": list(ticks(progressions)), "runs": list(map(_run, found))}


def _run(one: Compared) -> Json:
    found = one.progression
    return {
        "run": found.run.id,
        "problem": found.run.problem_name,
        "device": one.device.id,
        "language": found.run.config.language,
        "models": list(found.run.config.named_models),
        "points": [asdict(point) for point in found.points],
        "end": found.end,
        "unknown": found.unknown or None,
        "judged": found.judged,
        "verified": found.verified,
        "verified_rate": found.verified / found.judged if found.judged else None,
        "spent": asdict(found.spent),
        "winner": found.winner.kernel.id if found.winner else None,
        "milliseconds": found.winner.milliseconds if found.winner else None,
        "speedup": one.speedup,
    }
