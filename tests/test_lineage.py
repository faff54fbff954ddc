"""The graph of kernels: descent, speed, and what came of ideas."""

from __future__ import annotations

from dataclasses import replace

import pytest

from treesearch.lineage import Conclusion, Lineage, Reviewed, Standing
from treesearch.records import (
    Accuracy,
    Category,
    Edge,
    Entry,
    Evaluation,
    Idea,
    Kernel,
    Measurement,
    Proposal,
    Protocol,
    Ratio,
    Relation,
    Status,
    Timing,
)

PROTOCOL = Protocol(1e-2)


def kernel(round: int, ordinal: str, parent: str = "") -> Kernel:
    """The kernel of a slot; with a `parent`, its proposal is numbered by the ordinal's first figure."""
    place = int(ordinal.split(".")[0])
    idea = Idea(f"idea {round}.{place}", Category.COMPUTE, "mechanism", 1.2, "")
    proposal = Proposal("run", round, place, parent, "answer", idea) if parent else None
    return Kernel("run", round, ordinal, "cpp", f"{round} {ordinal}", "answer", proposal)


def verified(kernel: Kernel, milliseconds: float) -> Entry:
    eager = Timing((10.0,))
    measurement = Measurement(Timing((milliseconds,)), eager, Ratio(10 / milliseconds, 1, 20))
    accuracy = Accuracy(10, 1e-7, 1e-7, "float64", "float32-like")
    return Entry(kernel, Evaluation(Status.VERIFIED, "cpu", PROTOCOL, "", accuracy, measurement))


def suspect(kernel: Kernel, milliseconds: float) -> Entry:
    measurement = Measurement(Timing((milliseconds,)), Timing((10.0,)), Ratio(10 / milliseconds, 1, 20))
    return Entry(kernel, Evaluation(Status.SUSPECT, "cpu", PROTOCOL, "too good", measurement=measurement))


def failed(kernel: Kernel, status: Status = Status.WRONG) -> Entry:
    return Entry(kernel, Evaluation(status, "cpu", PROTOCOL, "the reason"))


def edge(parent: Entry, child: Entry, relation: Relation = Relation.REFINES) -> Edge:
    return Edge(parent.kernel.id, child.kernel.id, relation)


def ids(*entries: Entry) -> list[str]:
    return [entry.kernel.id for entry in entries]


ROOT = verified(kernel(0, "0.0"), 8.0)
OTHER_ROOT = failed(kernel(0, "0.1"))
A = verified(kernel(1, "0.0", ROOT.kernel.id), 6.0)
A_TWIN = verified(kernel(1, "0.1", ROOT.kernel.id), 5.0)
B = failed(kernel(1, "1.0", ROOT.kernel.id))
B_FIXED = verified(kernel(1, "1.0r1", ROOT.kernel.id), 4.0)
C = verified(kernel(1, "10.0", ROOT.kernel.id), 9.0)
D = failed(kernel(1, "9.0", ROOT.kernel.id), Status.BUILD_FAILED)
D_STILL = failed(kernel(1, "9.0r1", ROOT.kernel.id))
LEAF = verified(kernel(2, "0.0", B_FIXED.kernel.id), 4.0)
DUE = Entry(kernel(2, "1.0", B_FIXED.kernel.id))

ALL = [ROOT, OTHER_ROOT, A, A_TWIN, B, B_FIXED, D, D_STILL, C, LEAF, DUE]
EDGES = [
    *(edge(ROOT, child) for child in (A, A_TWIN, B, C, D)),
    edge(B, B_FIXED, Relation.REPAIRS),
    edge(D, D_STILL, Relation.REPAIRS),
    edge(B_FIXED, LEAF),
    edge(B_FIXED, DUE),
    edge(A, LEAF, Relation.INSPIRED_BY),
]


@pytest.fixture
def lineage() -> Lineage:
    return Lineage(reversed(ALL), reversed(EDGES))


def test_entries_come_by_round_and_ordinal_whatever_the_order_given(lineage: Lineage) -> None:
    assert lineage.entries == tuple(ALL)


def test_an_entry_is_found_by_its_kernels_id(lineage: Lineage) -> None:
    assert lineage.entry(B.kernel.id) is B


def test_verified_kernels_come_fastest_first_with_ties_by_round(lineage: Lineage) -> None:
    assert ids(*lineage.verified()) == ids(B_FIXED, LEAF, A_TWIN, A, ROOT, C)
    assert lineage.fastest() is B_FIXED


def test_without_verified_kernels_none_is_fastest() -> None:
    assert Lineage([OTHER_ROOT]).fastest() is None
    assert Lineage([]).verified() == ()


def test_a_suspect_is_never_fastest() -> None:
    too_good = suspect(kernel(1, "0.0", ROOT.kernel.id), 0.1)
    assert Lineage([ROOT, too_good], [edge(ROOT, too_good)]).fastest() is ROOT


def test_parents_refine_or_are_repaired_but_do_not_merely_inspire(lineage: Lineage) -> None:
    assert lineage.parent(A.kernel.id) is ROOT
    assert lineage.parent(B_FIXED.kernel.id) is B
    assert lineage.parent(LEAF.kernel.id) is B_FIXED
    assert lineage.parent(ROOT.kernel.id) is None
    assert LEAF not in lineage.children(A.kernel.id)


def test_a_repair_refines_what_the_kernel_that_it_repairs_refines(lineage: Lineage) -> None:
    assert lineage.refined(A.kernel.id) is ROOT
    assert lineage.refined(B_FIXED.kernel.id) is ROOT
    assert lineage.refined(LEAF.kernel.id) is B_FIXED
    assert lineage.refined(ROOT.kernel.id) is None
    repaired = verified(kernel(0, "0.1r1"), 3.0)
    roots = Lineage([OTHER_ROOT, repaired], [edge(OTHER_ROOT, repaired, Relation.REPAIRS)])
    assert roots.refined(repaired.kernel.id) is None


def test_children_and_siblings_come_in_order(lineage: Lineage) -> None:
    assert ids(*lineage.children(ROOT.kernel.id)) == ids(A, A_TWIN, B, D, C)
    assert ids(*lineage.siblings(A.kernel.id)) == ids(A_TWIN, B, D, C)
    assert ids(*lineage.siblings(ROOT.kernel.id)) == ids(OTHER_ROOT)
    assert lineage.children(LEAF.kernel.id) == ()


def test_a_kernel_says_how_it_came_from_its_parent() -> None:
    repaired = Lineage([ROOT, A, B], [edge(ROOT, A), edge(A, B, Relation.REPAIRS), edge(ROOT, B, Relation.INSPIRED_BY)])
    found = [repaired.relation(one.kernel.id) for one in (ROOT, A, B)]
    assert found == [None, Relation.REFINES, Relation.REPAIRS]


def test_children_can_be_asked_for_by_relation(lineage: Lineage) -> None:
    assert lineage.children(A.kernel.id, (Relation.INSPIRED_BY,)) == (LEAF,)
    assert lineage.children(B.kernel.id, (Relation.REFINES,)) == ()


def test_a_path_runs_from_the_root_through_repairs(lineage: Lineage) -> None:
    assert lineage.path(LEAF.kernel.id) == (ROOT, B, B_FIXED, LEAF)
    assert lineage.root(LEAF.kernel.id) is ROOT
    assert lineage.root(OTHER_ROOT.kernel.id) is OTHER_ROOT


def test_a_line_is_named_by_its_first_step_after_round_0(lineage: Lineage) -> None:
    assert {lineage.line(id) for id in ids(B, B_FIXED, LEAF, DUE)} == {B.kernel.id}
    assert lineage.line(A.kernel.id) == A.kernel.id
    assert lineage.line(ROOT.kernel.id) == ROOT.kernel.id


def test_each_idea_has_one_outcome_its_best_kernel_repairs_included(lineage: Lineage) -> None:
    outcomes = lineage.outcomes(ROOT.kernel.id)
    assert [(outcome.best, outcome.ratio, outcome.attempts) for outcome in outcomes] == [
        (A_TWIN, pytest.approx(8 / 5), 2),
        (B_FIXED, pytest.approx(2.0), 2),
        (D_STILL, None, 2),
        (C, pytest.approx(8 / 9), 1),
    ]
    assert [outcome.idea.title for outcome in outcomes] == ["idea 1.0", "idea 1.1", "idea 1.9", "idea 1.10"]


def test_a_kernel_that_is_not_evaluated_has_no_outcome(lineage: Lineage) -> None:
    assert [outcome.best for outcome in lineage.outcomes(B_FIXED.kernel.id)] == [LEAF]


def conclusions(lineage: Lineage, base: Entry) -> list[Conclusion]:
    return [outcome.conclusion for outcome in lineage.outcomes(base.kernel.id)]


def test_an_idea_is_confirmed_refuted_or_left_open_by_its_kernels(lineage: Lineage) -> None:
    found = [Conclusion.CONFIRMED, Conclusion.CONFIRMED, Conclusion.INCONCLUSIVE, Conclusion.REFUTED]
    assert conclusions(lineage, ROOT) == found
    assert conclusions(lineage, B_FIXED) == [Conclusion.REFUTED], "as fast as before is no gain"


def test_one_bug_does_not_kill_an_idea_nor_does_one_good_kernel_hide_the_others(lineage: Lineage) -> None:
    twins, repaired, *_ = lineage.outcomes(ROOT.kernel.id)
    assert [(one.working, one.attempts) for one in (twins, repaired)] == [(2, 2), (1, 2)]
    assert [twins.median, repaired.median] == pytest.approx([(8 / 6 + 8 / 5) / 2, 2.0])


@pytest.mark.parametrize(("low", "conclusion"), [(1.01, Conclusion.CONFIRMED), (0.99, Conclusion.REFUTED)])
def test_a_duel_with_the_parent_decides_whatever_the_times_apart_say(low: float, conclusion: Conclusion) -> None:
    assert A.evaluation is not None
    assert A.evaluation.measurement is not None
    duelled = replace(A.evaluation.measurement, parent_speedup=Ratio(1.02, low, 1.03))
    child = Entry(A.kernel, replace(A.evaluation, measurement=duelled))
    assert conclusions(Lineage([ROOT, child], [edge(ROOT, child)]), ROOT) == [conclusion]


def test_a_suspect_does_not_show_that_its_idea_paid() -> None:
    too_good = suspect(kernel(1, "0.0", ROOT.kernel.id), 0.1)
    lineage = Lineage([ROOT, too_good], [edge(ROOT, too_good)])
    assert conclusions(lineage, ROOT) == [Conclusion.INCONCLUSIVE]
    assert lineage.outcomes(ROOT.kernel.id)[0].ratio is None


def test_nothing_is_concluded_where_the_parent_has_no_time() -> None:
    due, child = Entry(ROOT.kernel), A
    lineage = Lineage([due, child], [edge(due, child)])
    assert lineage.outcomes(ROOT.kernel.id)[0].ratio is None
    assert conclusions(lineage, ROOT) == [Conclusion.INCONCLUSIVE]


def test_a_kernel_may_be_inspired_by_one_of_another_run() -> None:
    lineage = Lineage([ROOT, A], [edge(ROOT, A), Edge("elsewhere", A.kernel.id, Relation.INSPIRED_BY)])
    assert lineage.inspirations(A.kernel.id) == ("elsewhere",)
    assert lineage.inspirations(ROOT.kernel.id) == ()
    assert lineage.path(A.kernel.id) == (ROOT, A)


def test_a_kernel_stands_by_its_verdict_until_something_is_found_out(lineage: Lineage) -> None:
    assert {lineage.standing(entry.kernel.id) for entry in lineage.entries} == {None}


def test_a_suspect_and_what_came_from_it_count_no_more_but_stay_on_the_path() -> None:
    found = suspect(ROOT.kernel, 8.0)
    assert found.evaluation is not None
    assert A.evaluation is not None
    assert ROOT.evaluation is not None
    root = Reviewed(
        ROOT.kernel, found.evaluation, standing=Standing.SUSPECT, reason="r", judged=ROOT.evaluation, judgements=1
    )
    child = Reviewed(A.kernel, standing=Standing.REOPENED, reason="r", judged=A.evaluation, judgements=1)
    lineage = Lineage([root, child, A_TWIN], [edge(root, child), edge(root, A_TWIN)])
    assert lineage.verified() == (A_TWIN,)
    assert [lineage.standing(id) for id in ids(root, child, A_TWIN)] == [Standing.SUSPECT, Standing.REOPENED, None]
    assert [outcome.best for outcome in lineage.outcomes(ROOT.kernel.id)] == [A_TWIN], "re-opened is not an outcome"
    assert lineage.path(A.kernel.id) == (root, child)


def test_the_graph_is_a_copy(lineage: Lineage) -> None:
    graph = lineage.graph
    assert set(graph.nodes) == set(ids(*ALL))
    assert graph.nodes[A.kernel.id]["entry"] is A
    assert graph.edges[A.kernel.id, LEAF.kernel.id]["relation"] is Relation.INSPIRED_BY
    graph.remove_node(ROOT.kernel.id)
    assert lineage.parent(A.kernel.id) is ROOT


def test_descent_outranks_an_inspiration_between_the_same_kernels() -> None:
    both = [edge(ROOT, A), edge(ROOT, A, Relation.INSPIRED_BY)]
    for edges in (both, both[::-1]):
        assert Lineage([ROOT, A], edges).children(ROOT.kernel.id) == (A,)


@pytest.mark.parametrize("method", ["entry", "parent", "children", "siblings", "path", "root", "line"])
def test_an_unknown_kernel_is_a_key_error(lineage: Lineage, method: str) -> None:
    with pytest.raises(KeyError, match="no kernel nobody in this lineage of 11"):
        getattr(lineage, method)("nobody")


@pytest.mark.parametrize("method", ["outcomes", "inspirations"])
def test_outcomes_of_an_unknown_kernel_are_a_key_error(lineage: Lineage, method: str) -> None:
    with pytest.raises(KeyError, match="no kernel nobody"):
        getattr(lineage, method)("nobody")


def test_an_edge_to_an_unknown_kernel_is_refused() -> None:
    with pytest.raises(ValueError, match=f"names an unknown kernel, {A.kernel.id}"):
        Lineage([ROOT], [edge(ROOT, A)])


@pytest.mark.parametrize("relation", list(Relation))
def test_a_cycle_is_refused(relation: Relation) -> None:
    with pytest.raises(ValueError, match="cycle"):
        Lineage([ROOT, A], [edge(ROOT, A), edge(A, ROOT, relation)])
    with pytest.raises(ValueError, match="cycle"):
        Lineage([A], [edge(A, A, relation)])


def test_two_parents_are_refused() -> None:
    with pytest.raises(ValueError, match=f"kernel {LEAF.kernel.id} descends twice"):
        Lineage([ROOT, A, LEAF], [edge(ROOT, LEAF), edge(A, LEAF, Relation.REPAIRS)])


def test_a_kernel_listed_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="listed twice"):
        Lineage([ROOT, ROOT])
