"""What measuring again brought, for a terminal and for programs."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from treesearch.records import Comparison, Conditions, Outcome, Ratio
from treesearch.steps.rebench import Rebenched, Uncompared
from treesearch.view import data, text


def table(benched: Sequence[Rebenched]) -> RenderableType:
    """One row for each kernel, then how those of one problem compare."""
    rows = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("kernel", "status", "then", "now", "quartiles", "vs eager", "vs torch.compile", "remarks"):
        rows.add_column(column, no_wrap=column != "remarks", overflow="fold")
    for one in benched:
        measured = one.now.measurement
        rows.add_row(
            one.entry.kernel.id,
            Text(text.status(one.now.status)),
            _then(one),
            text.milliseconds(one.now.milliseconds),
            _quartiles(one),
            text.ratio(measured.eager_speedup if measured else None),
            text.ratio(measured.compile_speedup if measured else None),
            Text("; ".join(_remarks(one))),
        )
    compared = [Text(_sentence(one.compared)) for one in benched if one.compared]
    return Group(rows, "", *compared) if compared else rows


def json(benched: Sequence[Rebenched]) -> data.Json:
    """`then` and `now` have the fields of any verdict; `comparisons` is what the first kernel of each problem is."""
    found = [one.compared for one in benched if one.compared]
    return {
        "kernels": [_kernel(one) for one in benched],
        "comparisons": [_comparison(one) for one in found if isinstance(one, Comparison)],
        "not_compared": [
            {"first": one.first, "second": one.second, "reason": one.reason}
            for one in found
            if isinstance(one, Uncompared)
        ],
    }


def _then(one: Rebenched) -> str:
    """The time of then, marked where another device had it."""
    if one.entry.milliseconds is None:
        return "–"
    return f"{text.milliseconds(one.entry.milliseconds)}{' *' if one.elsewhere else ''}"


def _quartiles(one: Rebenched) -> str:
    if one.now.measurement is None:
        return ""
    low, high = one.now.measurement.kernel.quartiles
    return f"{text.figure(low)}–{text.figure(high)}"


def _remarks(one: Rebenched) -> list[str]:
    conditions = one.now.measurement.conditions if one.now.measurement else None
    remarks = [text.reason(one.now, 160)] if one.now.error else []
    if one.elsewhere:
        remarks.append(f"* then on {text.one_line(one.then.name)}, now on {text.one_line(one.here.name)}")
    return [*remarks, *([f"at {said}"] if conditions and (said := _said(conditions)) else [])]


def _said(conditions: Conditions) -> str:
    """What the machine was like, as far as it told."""
    figures = {
        "MHz": conditions.clock_mhz,
        "W": conditions.power_watts,
        "°C": conditions.celsius,
        "% of the cores busy with other things": None if conditions.others is None else 100 * conditions.others,
    }
    return ", ".join(f"{value:.0f} {unit}" for unit, value in figures.items() if value is not None)


def _sentence(found: Comparison | Uncompared) -> str:
    if isinstance(found, Uncompared):
        return f"{found.first} and {found.second} were not compared: {text.one_line(found.reason)}"
    verdict = "inconclusive" if found.outcome is Outcome.INCONCLUSIVE else f"{found.second} is {_other(found.outcome)}"
    inverse = Ratio(1 / found.ratio.value, 1 / found.ratio.high, 1 / found.ratio.low)
    return (
        f"{found.second} beside {found.first}: {verdict}, {inverse.value:.3f}× as fast "
        f"({inverse.low:.3f}–{inverse.high:.3f}, {found.pairs} launches of each in turn)"
    )


def _other(outcome: Outcome) -> Outcome:
    """What the second of two is, where the first is that."""
    return Outcome.SLOWER if outcome is Outcome.FASTER else Outcome.FASTER


def _kernel(one: Rebenched) -> data.Json:
    return {
        "kernel": one.entry.kernel.id,
        "run": one.run.id,
        "problem": one.run.problem_name,
        "language": one.entry.kernel.language,
        "device": data.device(one.here),
        "then_device": data.device(one.then),
        "same_device": not one.elsewhere,
        "then": data.evaluation(one.entry.evaluation) if one.entry.evaluation else None,
        "now": data.evaluation(one.now),
    }


def _comparison(found: Comparison) -> data.Json:
    """`ratio` is the second's time ÷ the first's: above 1 the first is faster. `outcome` is what the first is."""
    return {
        "first": found.first,
        "second": found.second,
        "ratio": found.ratio.value,
        "ratio_interval": [found.ratio.low, found.ratio.high],
        "pairs": found.pairs,
        "outcome": str(found.outcome),
        "device": found.device,
    }
