"""A run's lineage as a tree: a line for each kernel, and one for what is left out below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from treesearch.lineage import Lineage, Standing, standing
from treesearch.records import Entry, Relation, Run
from treesearch.view import text
from treesearch.view.data import Json
from treesearch.view.tables import status_of

MOST = 100
"""Kernels that are all listed; of more, those that others were made from."""
WINNING = "bold green"


@dataclass(frozen=True)
class Branch:
    """A kernel that is listed; `entry` is None for what the roots grow from."""

    entry: Entry | None
    depth: int
    """Steps from where the tree begins, whose kernels are at 1."""
    left_out: tuple[Entry, ...]
    """Kernels that came from it and are not listed, nor is what these came from but for it."""


def branches(
    lineage: Lineage, top: str | None = None, depth: int | None = None, *, whole: bool = False
) -> list[Branch]:
    """The tree from its roots, or from the kernel `top`, at most `depth` kernels deep, each before those below it.

    Where there are more than MOST kernels only those are listed that others refine, what these came from, and the
    winning line; `whole` lists all.
    """
    roots = (lineage.entry(top),) if top else lineage.roots()
    below = [entry.kernel.id for entry in _with_all_below(lineage, roots)]
    listed = set(below) if whole or len(below) <= MOST else {top, *_chosen(lineage)}
    found: list[Branch] = []
    ahead: list[tuple[Entry | None, int]] = [(None, 0)]
    while ahead:  # a lineage may be deeper than Python's stack
        entry, level = ahead.pop()
        children = lineage.children(entry.kernel.id) if entry else roots
        within = depth is None or level < depth
        shown = [one for one in children if within and one.kernel.id in listed]
        hidden = [one for one in children if not within or one.kernel.id not in listed]
        found.append(Branch(entry, level, tuple(_with_all_below(lineage, hidden))))
        ahead += [(one, level + 1) for one in reversed(shown)]
    return found


def _chosen(lineage: Lineage) -> set[str]:
    """Ids of those kernels that say most, in a lineage of many."""
    winning = set(winning_line(lineage))
    made_from = {step.kernel.id for base in lineage.bases() for step in lineage.path(base.kernel.id)}
    return made_from | winning if len(made_from | winning) <= MOST else winning


def winning_line(lineage: Lineage) -> tuple[str, ...]:
    """Ids from the root to the fastest kernel; none where nothing is verified."""
    fastest = lineage.fastest()
    return tuple(step.kernel.id for step in lineage.path(fastest.kernel.id)) if fastest else ()


def _with_all_below(lineage: Lineage, entries: Sequence[Entry]) -> Iterator[Entry]:
    ahead = list(reversed(entries))
    while ahead:
        entry = ahead.pop()
        yield entry
        ahead += reversed(lineage.children(entry.kernel.id))


# ── on a terminal ───────────────────────────────────────────────────────────────────────────────


def drawn(found: Run, lineage: Lineage, listed: Sequence[Branch]) -> RenderableType:
    """The tree under a line about the run; its winning line is bright, what does not count dim."""
    winning = winning_line(lineage)
    tree = Tree(_title(found, lineage), guide_style="dim")
    above, incomplete = [tree], []
    for branch in listed:
        node = above[branch.depth - 1].add(_line(branch.entry, lineage, winning)) if branch.entry else tree
        above[branch.depth :] = [node]
        incomplete += [(node, branch.left_out)] if branch.left_out else []
    for node, left_out in incomplete:  # last, so that it follows what is listed below the same kernel
        node.add(Text(_summed_up(left_out), style="dim italic", no_wrap=True, overflow="ellipsis"))
    return Group(tree, *_hint(sum(len(left_out) for _, left_out in incomplete)))


def _hint(left_out: int) -> list[Text]:
    said = f"{text.count(left_out, 'kernel')} summed up: --all lists them, and `treesearch tree KERNEL` those below one"
    return [Text(said, style="dim")] if left_out else []


def _title(found: Run, lineage: Lineage) -> Text:
    counted = text.count(len(lineage.entries), "kernel")
    about = f"  run {found.id} · {counted}, {len(lineage.verified())} verified"
    return Text.assemble((text.one_line(found.problem_name), "bold"), about)


def _line(entry: Entry, lineage: Lineage, winning: Collection[str]) -> Text:
    """What one needs to know of a kernel: id, status, time, speed-up, where else it came from, the idea's title."""
    wins = entry.kernel.id in winning
    measured = entry.evaluation.measurement if entry.evaluation else None
    speed = f" {text.milliseconds(entry.milliseconds)} {measured.speedup.value:.2f}×" if measured else ""
    notes = ", ".join(_notes(entry, lineage))
    line = Text(no_wrap=True, overflow="ellipsis", style="" if wins or entry.verified else "dim")
    line.append(f"{entry.kernel.id} ", style=WINNING if wins else "dim")
    line.append_text(status_of(entry)).append(f"{speed} ", style=WINNING if wins else "")
    line.append(f" ({notes})" if notes else "", style="dim")
    return line.append(f" {text.idea_title(entry)}", style=WINNING if wins else "")


def _notes(entry: Entry, lineage: Lineage) -> Iterator[str]:
    if lineage.relation(entry.kernel.id) is Relation.REPAIRS:
        yield "repair"
    if inspired := lineage.inspirations(entry.kernel.id):
        yield f"inspired by {', '.join(inspired)}"
    if by_hand := text.by_hand(entry.kernel.proposal):
        yield by_hand
    if standing(entry) is Standing.CLEARED:
        yield "cleared"


def _summed_up(left_out: Sequence[Entry]) -> str:
    """`12 more, the fastest 2ab34cd56ef7 0.71 ms: 8 verified, 3 wrong, 1 crashed`."""
    fastest = min((one for one in left_out if one.verified), key=lambda one: one.milliseconds or 0.0, default=None)
    counts = Counter(status_of(one).plain for one in left_out)
    told = ", ".join(f"{number} {status}" for status, number in counts.most_common())
    best = f", the fastest {fastest.kernel.id} {text.milliseconds(fastest.milliseconds)}" if fastest else ""
    return f"{len(left_out)} more{best}: {told}"


# ── as JSON values ──────────────────────────────────────────────────────────────────────────────


def as_json(found: Run, lineage: Lineage, listed: Sequence[Branch]) -> Json:
    """Kernels that are listed, each before those below it; `left_out` are the ids of those that are not."""
    winning = winning_line(lineage)
    kernels = [_json(branch, branch.entry, lineage, winning) for branch in listed if branch.entry]
    left_out = [one.kernel.id for branch in listed for one in branch.left_out]
    about = {"run": found.id, "problem": found.problem_name, "winning_line": list(winning)}
    return {**about, "kernels": kernels, "left_out": left_out}


def _json(branch: Branch, entry: Entry, lineage: Lineage, winning: Collection[str]) -> Json:
    id, parent, relation = entry.kernel.id, lineage.parent(entry.kernel.id), lineage.relation(entry.kernel.id)
    measured = entry.evaluation.measurement if entry.evaluation else None
    stands = standing(entry)
    return {
        "kernel": id,
        "depth": branch.depth,
        "round": entry.kernel.round,
        "ordinal": entry.kernel.ordinal,
        "parent": parent.kernel.id if parent else None,
        "relation": str(relation) if relation else None,
        "inspired_by": list(lineage.inspirations(id)),
        "status": str(entry.evaluation.status) if entry.evaluation else None,
        "standing": str(stands) if stands else None,
        "milliseconds": entry.milliseconds,
        "speedup": measured.speedup.value if measured else None,
        "title": entry.kernel.idea.title if entry.kernel.idea else None,
        "winning": id in winning,
    }
