"""A lineage as a tree, small and large."""

from __future__ import annotations

import io
from itertools import pairwise

from rich.console import Console

from tests.view.test_views import HOSTILE, IDEA, RUN, harmless, printed, verified
from treesearch.lineage import Lineage
from treesearch.records import Edge, Entry, Evaluation, Kernel, Proposal, Protocol, Relation, Status
from treesearch.view import tree


def failed(kernel: Kernel, status: Status = Status.WRONG) -> Entry:
    return Entry(kernel, Evaluation(status, "cpu", Protocol(0.01), HOSTILE))


def slot(round: int, ordinal: str, parent: str = "") -> Kernel:
    proposal = Proposal("r1", round, int(ordinal.split(".")[0]), parent, "", IDEA) if parent else None
    return Kernel("r1", round, ordinal, "cpp", "//", "", proposal)


ROOT, OTHER = slot(0, "0.0"), slot(0, "1.0")
BROKEN = slot(1, "0.0", ROOT.id)
REPAIR = slot(1, "0.0r1", ROOT.id)
WINNER = slot(2, "0.0", REPAIR.id)
EDGES = [
    Edge(ROOT.id, BROKEN.id, Relation.REFINES),
    Edge(BROKEN.id, REPAIR.id, Relation.REPAIRS),
    Edge(REPAIR.id, WINNER.id, Relation.REFINES),
    Edge(OTHER.id, WINNER.id, Relation.INSPIRED_BY),
]
ENTRIES = [verified(ROOT, 4.0), verified(OTHER, 5.0), failed(BROKEN), verified(REPAIR, 2.0), verified(WINNER, 1.0)]
SMALL = Lineage(ENTRIES, EDGES)
LINE = (ROOT.id, BROKEN.id, REPAIR.id, WINNER.id)


def large(many: int = 400) -> Lineage:
    """The small one, with as many children of its root that nothing was made from."""
    leaves = [slot(1, f"{place}.0", ROOT.id) for place in range(1, many + 1)]
    judged = [verified(leaf, 3.0 + place) if place % 2 else failed(leaf) for place, leaf in enumerate(leaves)]
    return Lineage([*ENTRIES, *judged], [*EDGES, *(Edge(ROOT.id, leaf.id, Relation.REFINES) for leaf in leaves)])


def listed(lineage: Lineage, top: str | None = None, depth: int | None = None, *, whole: bool = False) -> list[str]:
    return [one.entry.kernel.id for one in tree.branches(lineage, top, depth, whole=whole) if one.entry]


def test_a_small_lineage_is_listed_whole_each_kernel_before_those_below_it() -> None:
    assert listed(SMALL) == [*LINE, OTHER.id]
    assert listed(SMALL, top=BROKEN.id) == [BROKEN.id, REPAIR.id, WINNER.id]
    assert tree.winning_line(SMALL) == LINE


def test_lines_say_what_became_of_a_kernel_and_where_else_it_came_from() -> None:
    lines = printed(tree.drawn(RUN, SMALL, tree.branches(SMALL))).splitlines()
    assert harmless("".join(lines))
    assert lines[0].endswith("run r1 · 5 kernels, 4 verified")
    assert f"├── {ROOT.id} verified 4 ms 1.00×  first kernel" in lines[1]
    assert f"└── {BROKEN.id} wrong  \ufffd[2J[bold]" in lines[2]
    assert f"└── {REPAIR.id} verified 2 ms 2.00×  (repair) \ufffd[2J[bold]" in lines[3]
    assert f"(inspired by {OTHER.id}) \ufffd[2J[bold]" in lines[4]


def test_the_winning_line_is_bright_and_failures_are_dim() -> None:
    lost = slot(0, "2.0")
    lineage = Lineage([*ENTRIES, failed(lost)], EDGES)
    out = io.StringIO()
    console = Console(file=out, width=200, force_terminal=True, color_system="standard")
    console.print(tree.drawn(RUN, lineage, tree.branches(lineage)))
    assert all(f"\x1b[1;32m{id} " in out.getvalue() for id in LINE)
    assert f"\x1b[2m{OTHER.id} \x1b[0m\x1b[32mverified\x1b[0m 5 ms" in out.getvalue()
    assert f"\x1b[2m{lost.id} \x1b[0m\x1b[2;31mwrong\x1b[0m\x1b[2m " in out.getvalue()


def test_of_many_kernels_those_are_listed_that_led_somewhere_and_the_rest_is_counted() -> None:
    lineage = large()
    assert listed(lineage) == [*LINE]
    assert len(listed(lineage, whole=True)) == len(lineage.entries) == 405
    written = printed(tree.drawn(RUN, lineage, tree.branches(lineage)))
    fastest = lineage.children(ROOT.id)[2].kernel.id
    assert f"400 more, the fastest {fastest} 4 ms: 200 wrong, 200 verified" in written
    assert "401 kernels summed up: --all lists them" in written, "and the root that led nowhere"
    assert f"1 more, the fastest {OTHER.id} 5 ms: 1 verified" in written


def test_nothing_is_lost_between_what_is_listed_and_what_is_left_out() -> None:
    lineage = large()
    for found in (tree.branches(lineage), tree.branches(lineage, depth=1), tree.branches(lineage, depth=2, whole=True)):
        ids = [one.entry.kernel.id for one in found if one.entry]
        ids += [left.kernel.id for one in found for left in one.left_out]
        assert sorted(ids) == sorted(entry.kernel.id for entry in lineage.entries)


def test_a_kernel_of_many_that_led_nowhere_is_still_listed_when_it_is_named() -> None:
    lineage = large()
    leaf = lineage.entries[-2].kernel.id
    assert listed(lineage, top=leaf) == [leaf]


def test_a_chain_longer_than_pythons_stack_is_drawn() -> None:
    chain = [slot(0, "0.0")]
    for round in range(1, 1500):
        chain.append(slot(round, "0.0", chain[-1].id))
    lineage = Lineage(
        [verified(kernel, 2000.0 - kernel.round) for kernel in chain],
        [Edge(one.id, other.id, Relation.REFINES) for one, other in pairwise(chain)],
    )
    assert len(listed(lineage)) == 1500
    assert len(tree.as_json(RUN, lineage, tree.branches(lineage))["kernels"]) == 1500


def test_json_tells_descent_inspiration_and_the_winning_line() -> None:
    whole = tree.as_json(RUN, SMALL, tree.branches(SMALL, depth=3))
    assert whole["winning_line"] == list(LINE)
    assert whole["left_out"] == [WINNER.id]
    repair = next(one for one in whole["kernels"] if one["kernel"] == REPAIR.id)
    assert (repair["parent"], repair["relation"], repair["depth"], repair["winning"]) == (BROKEN.id, "repairs", 3, True)
    root = whole["kernels"][0]
    assert (root["relation"], root["title"], root["speedup"]) == (None, None, 1.0)
    whole = tree.as_json(RUN, SMALL, tree.branches(SMALL))
    assert next(one for one in whole["kernels"] if one["kernel"] == WINNER.id)["inspired_by"] == [OTHER.id]
