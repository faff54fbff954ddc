"""A trajectory as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from treesearch.records import Device, Entry, Run
from treesearch.view import text
from treesearch.view.data import reference_percent


def trajectory(found: Run, hardware: Device, path: Sequence[Entry]) -> str:
    """A heading, the table from root to kernel, and the last step's figures with their intervals."""
    lines = [
        f"### {found.problem_name}, run {found.id}",
        "",
        "| round | ms | % of reference | idea | kernel |",
        "|---:|---:|---:|---|---|",
    ]
    for entry in path:
        time = f"{entry.milliseconds:.3g}" if entry.milliseconds else "–"
        cells = [str(entry.kernel.round), time, text.percent(reference_percent(entry)), _cell(text.idea_title(entry))]
        lines.append(f"| {' | '.join(cells)} | `{entry.kernel.id}` |")
    measured = path[-1].evaluation.measurement if path and path[-1].evaluation else None
    if measured:
        lines += [
            "",
            f"Against eager ({text.milliseconds(measured.eager.median)}): {text.ratio(measured.eager_speedup)}.",
        ]
        if measured.compile:
            compiled = text.milliseconds(measured.compile.median)
            lines.append(f"Against torch.compile ({compiled}): {text.ratio(measured.compile_speedup)}.")
        lines.append(f"On {hardware.name}, {hardware.cores} cores; intervals are 95 % bootstrap.")
    return "\n".join(lines) + "\n"


def _cell(value: str) -> str:
    return value.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
