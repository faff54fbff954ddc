"""What differs between two kernels' sources: a unified diff, under a head that says what came of both."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from rich.text import Text

from treesearch.languages import named
from treesearch.lineage import Lineage
from treesearch.records import Device, Entry, Ratio, Run
from treesearch.view import data, hardware, text
from treesearch.view.data import Json

STYLES = {"+": "green", "-": "red", "@": "cyan", "#": "dim"}
NO_LINE_FEED = "\n\\ No newline at end of file"


@dataclass(frozen=True)
class Side:
    """A kernel with code, where it belongs, and where it ran."""

    entry: Entry
    lineage: Lineage
    run: Run
    device: Device

    @property
    def id(self) -> str:
        return self.entry.kernel.id

    @property
    def source(self) -> str:
        return self.entry.kernel.source or ""

    @property
    def file(self) -> str:
        return self.id + named(self.entry.kernel.language).suffix


def unified(old: Side, new: Side) -> str:
    """Lines that begin with #, which `patch` skips, and the unified diff; all of it fit for a terminal."""
    return "\n".join((*(f"# {line}" for line in _head(old, new)), *map(text.visible, changes(old, new))))


def changes(old: Side, new: Side) -> Iterator[str]:
    """Lines of the unified diff as the sources are; none where they are equal."""
    before, after = _lines(old.source), _lines(new.source)
    return difflib.unified_diff(before, after, old.file, new.file, lineterm="")


def coloured(diff: str) -> Text:
    lines = diff.split("\n")
    return Text("\n").join(Text(line, style=STYLES.get(line[:1], "")) for line in lines)


def _lines(source: str) -> list[str]:
    """Those between line feeds alone, as `patch` sees them; the last says so where no line feed ends it."""
    *lines, last = source.split("\n")
    return [*lines, last + NO_LINE_FEED] if last else lines


def _head(old: Side, new: Side) -> Iterator[str]:
    yield _described(old)
    yield _described(new)
    yield _gain(old, new)
    if old.source == new.source:
        yield "the sources are equal"
    if any(text.visible(side.source) != side.source for side in (old, new)):
        yield "control characters are shown as \ufffd; --json has the sources as they are"


def _described(side: Side) -> str:
    judged = side.entry.evaluation
    became = text.status(judged.status) if judged else "no verdict that counts"
    if judged and judged.measurement:
        became += f" {text.milliseconds(judged.milliseconds)}, {judged.measurement.speedup.value:.2f}×"
    return f"{side.id}  run {side.run.id} round {side.entry.kernel.round} · {became} · {text.idea_title(side.entry)}"


def _gain(old: Side, new: Side) -> str:
    if (old.run.problem, old.device.id) != (new.run.problem, new.device.id):
        where = [f"{text.one_line(one.run.problem_name, 60)} on {hardware.device(one.device)}" for one in (old, new)]
        return f"their times do not compare: {' and '.join(where)}"
    if ratio := in_turn(old, new):
        return f"launched in turn, the second is {text.ratio(ratio)} as fast as the first"
    if not old.entry.milliseconds or not new.entry.milliseconds:
        return "what the change gains is not known without two times"
    ratio_of_times = old.entry.milliseconds / new.entry.milliseconds
    return f"by their verdicts, the second is {ratio_of_times:.2f}× as fast as the first"


def in_turn(old: Side, new: Side) -> Ratio | None:
    """The speed-up of the new kernel over the old one, where it was made from that and launched in turn with it."""
    measured = new.entry.evaluation.measurement if new.entry.evaluation else None
    made_from = new.lineage.refined(new.id)
    return measured.parent_speedup if measured and made_from and made_from.kernel.id == old.id else None


def as_json(old: Side, new: Side) -> Json:
    """Both kernels as `show` has them, with their sources, and the unified diff of these as they are."""
    ratio = in_turn(old, new)
    return {
        "old": {**data.entry(old.entry, old.lineage), "source": old.source},
        "new": {**data.entry(new.entry, new.lineage), "source": new.source},
        "speedup_in_turn": ratio.value if ratio else None,
        "diff": "".join(f"{line}\n" for line in changes(old, new)),
    }
