"""A trajectory as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from treesearch.records import Device, Entry, Run
from treesearch.view import text
from treesearch.view.data import reference_percent


def trajectory(found: Run, hardware: Device, path: Sequence[Entry]) -> str:
    """A heading, the table from root to kernel, and the last step's figures with their intervals."""
    lines = [
        f"### {_escaped(found.problem_name)}, run {found.id}",
        "",
        "| round | ms | % of reference | idea | kernel |",
        "|---:|---:|---:|---|---|",
    ]
    for entry in path:
        time = f"{entry.milliseconds:.3g}" if entry.milliseconds else "–"
        idea, percent = _escaped(text.idea_title(entry)), text.percent(reference_percent(entry))
        lines.append(f"| {entry.kernel.round} | {time} | {percent} | {idea} | `{entry.kernel.id}` |")
    measured = path[-1].evaluation.measurement if path and path[-1].evaluation else None
    if measured:
        lines += [
            "",
            f"Against eager ({text.milliseconds(measured.eager.median)}): {text.ratio(measured.eager_speedup)}.",
        ]
        if measured.compile:
            compiled = text.milliseconds(measured.compile.median)
            lines.append(f"Against torch.compile ({compiled}): {text.ratio(measured.compile_speedup)}.")
        lines.append(f"On {_escaped(hardware.name)}, {hardware.cores} cores; intervals are 95 % bootstrap.")
    return "\n".join(lines) + "\n"


def _escaped(value: str) -> str:
    """Foreign text as one line of plain words: no cell ends in it, and no link, image or tag begins."""
    marked = re.sub(r"([\\|`*_\[\]])", r"\\\1", text.one_line(value))
    return marked.replace("&", "&amp;").replace("<", "&lt;")
