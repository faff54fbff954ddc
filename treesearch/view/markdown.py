"""A trajectory as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from treesearch.records import Device, Entry, Evaluation, Measurement, Run
from treesearch.roofline import Floor
from treesearch.view import hardware, text
from treesearch.view.data import reference_percent

LONGEST_SENTENCE = 600
"""Characters of one of ours, in which a setting of torch's may have a long name."""


def trajectory(
    found: Run, device: Device, path: Sequence[Entry], bound: Floor | None = None, final: Evaluation | None = None
) -> str:
    """A heading, the table from root to kernel, and the last step's figures with their intervals.

    Where the floor is known, it comes last; before it, what was measured after the last step had won.
    """
    lines = [
        f"### {text.escaped(found.problem_name)}, run {found.id}",
        "",
        "| round | ms | % of reference | idea | kernel |",
        "|---:|---:|---:|---|---|",
    ]
    for entry in path:
        time = text.figure(entry.milliseconds) if entry.milliseconds else "–"
        idea, percent = text.escaped(_step(entry)), text.percent(reference_percent(entry))
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
        lines.append(f"On {text.escaped(hardware.device(device))}; intervals are 95 % bootstrap.")
    if final and final.measurement and not final.error:
        lines.append(text.escaped(_afterwards(final.measurement), LONGEST_SENTENCE))
    if bound:
        place = hardware.place(path[-1], bound) if path else ""
        floor = f"The floor there is {text.milliseconds(bound.milliseconds)} ({hardware.cause(bound)})"
        lines.append(text.escaped(f"{floor}; the last step has {place}." if place else f"{floor}."))
    return "\n".join(lines) + "\n"


def _afterwards(measured: Measurement) -> str:
    torch = measured.fastest_torch
    time = text.milliseconds(torch.timing.median if torch.timing else None)
    return (
        f"Measured again after the selection: {text.milliseconds(measured.kernel.median)}; against eager "
        f"{text.ratio(measured.eager_speedup)}, against the fastest torch that passes ({torch.name}, {time}) "
        f"{text.ratio(torch.speedup)}."
    )


def _step(entry: Entry) -> str:
    notes = [note for note in (text.by_hand(entry.kernel.proposal), text.standing(entry)) if note]
    return f"{text.idea_title(entry)} ({'; '.join(notes)})" if notes else text.idea_title(entry)
