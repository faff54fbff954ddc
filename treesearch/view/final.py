"""What was measured after the selection: the figure to publish, and how torch does under other settings."""

from __future__ import annotations

from rich.text import Text

from treesearch.records import Configuration, Evaluation, Measurement
from treesearch.view import text

AFTERWARDS = "measured after the selection, on fresh inputs in fresh processes"


def lines(final: Evaluation) -> list[Text]:
    """A final measurement: its time beside both baselines, the fastest torch that passes, and the other settings."""
    when = f" · {final.created[:10]}" if final.created else ""
    if final.measurement is None or final.error:
        said = text.one_line(f"{text.status(final.status)}: {final.error}", 300)
        return [Text.assemble(("final  ", "bold"), (said, "red")), Text(f"{AFTERWARDS}{when}", style="dim")]
    measured = final.measurement
    return [
        Text("final  ", style="bold").append_text(figures(measured)),
        Text(f"the fastest torch that passes is {_beside(measured.fastest_torch)}"),
        *map(_configuration, measured.configurations),
        Text(f"{AFTERWARDS}{when}", style="dim"),
    ]


def figures(measured: Measurement) -> Text:
    """A kernel's time beside both baselines, with intervals."""
    low, high = measured.kernel.quartiles
    line = Text()
    line.append(f"{text.milliseconds(measured.kernel.median)}", style="bold green")
    line.append(f" (quartiles {text.figure(low)}–{text.figure(high)}, {len(measured.kernel.samples)} samples)")
    if measured.warm is not None:
        line.append(f" · {text.milliseconds(measured.warm)} with a warm cache")
    line.append(f" · eager {text.milliseconds(measured.eager.median)}: {text.ratio(measured.eager_speedup)}")
    if measured.compile:
        compiled = text.milliseconds(measured.compile.median)
        line.append(f" · torch.compile {compiled}: {text.ratio(measured.compile_speedup)}")
    else:
        line.append(f" · torch.compile: none ({text.one_line(measured.compile_error, 100)})")
    return line


def _configuration(one: Configuration) -> Text:
    """A line for one that is a baseline, or for why it is none."""
    if one.timing:
        return Text(f"  {_beside(one)}")
    return Text(f"  {text.one_line(one.name)} does not count: {text.one_line(one.error, 160)}", style="dim")


def _beside(one: Configuration) -> str:
    """Its name, its time, and the kernel's speed-up over it."""
    time = text.milliseconds(one.timing.median if one.timing else None)
    return f"{text.one_line(one.name)}, {time}: {text.ratio(one.speedup)}"
