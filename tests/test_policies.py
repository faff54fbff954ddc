"""Which kernels seed the next round."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from treesearch.errors import UsageError
from treesearch.lineage import Lineage
from treesearch.policies import LONGEST_DETOUR, POLICIES, diverse, fastest, keep, named
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


@dataclass
class Tree:
    """Grows a lineage kernel by kernel; kernels go by names of the test's choice."""

    kernels: dict[str, Entry] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)

    def grow(
        self,
        name: str,
        milliseconds: float | None,
        parent: str = "",
        *,
        promise: float = 1.1,
        idea: int | None = None,
        source: str = "",
        repairs: bool = False,
        gain: tuple[float, float] | None = None,
    ) -> None:
        """Add a kernel; None milliseconds means that it failed. Kernels with one `idea` number share it.

        `gain` is the interval of its speed-up over its parent, where both were launched in turn.
        """
        place = len(self.kernels)
        above = self.kernels[parent].kernel if parent else None
        round = 0 if above is None else above.round + (not repairs)
        proposal = None
        if above is not None:
            about = Idea(f"idea {place}", Category.COMPUTE, "mechanism", promise, "")
            proposal = Proposal("run", round, place if idea is None else idea, above.id, "answer", about)
        kernel = Kernel("run", round, f"{place}.0", "cpp", source or name, "answer", proposal)
        self.kernels[name] = Entry(kernel, _evaluation(milliseconds, gain))
        if above is not None:
            self.edges.append(Edge(above.id, kernel.id, Relation.REPAIRS if repairs else Relation.REFINES))

    @property
    def lineage(self) -> Lineage:
        return Lineage(self.kernels.values(), self.edges)

    def names(self, ids: tuple[str, ...]) -> list[str]:
        by_id = {entry.kernel.id: name for name, entry in self.kernels.items()}
        return [by_id[id] for id in ids]

    def fastest(self, beam: int) -> list[str]:
        return self.names(fastest(self.lineage, beam))

    def diverse(self, beam: int) -> list[str]:
        return self.names(diverse(self.lineage, beam))


def _evaluation(milliseconds: float | None, gain: tuple[float, float] | None) -> Evaluation:
    if milliseconds is None:
        return Evaluation(Status.WRONG, "cpu", PROTOCOL, "the reason")
    over_parent = Ratio(sum(gain) / 2, *gain) if gain else None
    times = Timing((milliseconds,)), Timing((10.0,)), Ratio(10 / milliseconds, 1, 20)
    measurement = Measurement(*times, parent_speedup=over_parent)
    accuracy = Accuracy(10, 1e-7, 1e-7, "float64", "float32-like")
    return Evaluation(Status.VERIFIED, "cpu", PROTOCOL, "", accuracy, measurement)


@pytest.fixture
def tree() -> Tree:
    tree = Tree()
    tree.grow("root", 8)
    return tree


def test_fastest_takes_the_fastest_whatever_they_share(tree: Tree) -> None:
    tree.grow("a", 4, "root")
    tree.grow("a1", 3, "a")
    tree.grow("a2", 2, "a")
    tree.grow("a3", 1, "a", source="a2")
    tree.grow("broken", None, "a")
    assert tree.fastest(3) == ["a3", "a2", "a1"]
    assert tree.fastest(9) == ["a3", "a2", "a1", "a", "root"]


@pytest.mark.parametrize("policy", POLICIES.values())
def test_no_policy_picks_a_kernel_that_failed(policy: object) -> None:
    tree = Tree()
    tree.grow("broken", None)
    assert callable(policy)
    assert policy(tree.lineage, 4) == ()


def test_diverse_takes_at_most_two_of_one_line(tree: Tree) -> None:
    tree.grow("a", 4, "root")
    for name, milliseconds in {"a1": 3.0, "a2": 2.0, "a3": 1.0}.items():
        tree.grow(name, milliseconds, "a")
    tree.grow("b", 7, "root")
    assert tree.diverse(3) == ["a3", "a2", "b"]


def test_diverse_counts_implementations_of_one_first_idea_as_one_line(tree: Tree) -> None:
    for name, milliseconds in {"a": 1.0, "a_again": 2.0, "a_third": 3.0}.items():
        tree.grow(name, milliseconds, "root", idea=1)
    tree.grow("b", 7, "root")
    assert tree.diverse(3) == ["a", "a_again", "b"]


def test_diverse_fills_places_that_the_limit_leaves_empty(tree: Tree) -> None:
    tree.grow("a", 4, "root")
    for name, milliseconds in {"a1": 3.0, "a2": 2.0, "a3": 1.0}.items():
        tree.grow(name, milliseconds, "a")
    assert tree.diverse(4) == ["a3", "a2", "root", "a1"]
    assert tree.diverse(9) == ["a3", "a2", "root", "a1", "a"]


def test_diverse_takes_one_source_text_only_once(tree: Tree) -> None:
    tree.grow("a", 2, "root")
    tree.grow("same", 3, "root", source="a")
    tree.grow("b", 4, "root")
    assert tree.diverse(4) == ["a", "b", "root"]


def test_diverse_keeps_the_most_promising_detour(tree: Tree) -> None:
    for name, milliseconds in {"a": 5.0, "b": 6.0, "c": 7.0}.items():
        tree.grow(name, milliseconds, "root")
    tree.grow("modest", 8.1, "root", promise=1.2)
    tree.grow("bold", 9, "root", promise=2.0)
    tree.grow("hopeless", 8 * LONGEST_DETOUR + 0.1, "root", promise=5.0)
    assert tree.diverse(3) == ["a", "b", "bold"]
    assert tree.diverse(4) == ["a", "b", "c", "bold"]
    assert tree.diverse(2) == ["a", "b"], "a small beam has no place to spare"


def test_diverse_gives_a_detour_only_one_try(tree: Tree) -> None:
    for name, milliseconds in {"a": 5.0, "b": 6.0, "c": 7.0}.items():
        tree.grow(name, milliseconds, "root")
    tree.grow("bold", 9, "root", promise=2.0)
    tree.grow("child", 9.5, "bold", promise=1.0)
    assert tree.diverse(3) == ["a", "b", "c"]


def test_diverse_ignores_a_detour_that_promised_nothing(tree: Tree) -> None:
    for name, milliseconds in {"a": 5.0, "b": 6.0, "c": 7.0}.items():
        tree.grow(name, milliseconds, "root")
    tree.grow("sideways", 9, "root", promise=1.0)
    assert tree.diverse(3) == ["a", "b", "c"]


def test_a_detour_among_the_fastest_takes_no_second_place(tree: Tree) -> None:
    tree.grow("a", 5, "root")
    tree.grow("a1", 5.5, "a", promise=2.0)
    tree.grow("b", 6, "root")
    assert tree.diverse(3) == ["a", "a1", "b"]


def test_another_first_kernels_line_that_moves_goes_on(tree: Tree) -> None:
    for name, milliseconds in {"a": 5.0, "b": 5.5, "c": 6.0}.items():
        tree.grow(name, milliseconds, "root")
    tree.grow("bold", 9, "root", promise=2.0)
    tree.grow("other", 9)
    assert tree.diverse(3) == ["a", "b", "bold"], "a first kernel has not moved"
    tree.grow("step", 7, "other", promise=1.0)
    assert tree.diverse(3) == ["a", "b", "step"], "too slow for a place by speed, and too fast for a detour"
    tree.grow("back", 7.5, "step", promise=1.1)
    assert tree.diverse(3) == ["a", "b", "bold"], "it has had its try, and what came of it gained nothing"
    tree.grow("further", 6.5, "step", promise=1.1)
    assert tree.diverse(3) == ["a", "b", "further"]


def test_another_line_among_the_fastest_takes_no_second_place(tree: Tree) -> None:
    for name, milliseconds in {"a": 4.0, "b": 5.0, "c": 6.0}.items():
        tree.grow(name, milliseconds, "root")
    tree.grow("bold", 9, "root", promise=2.0)
    tree.grow("other", 9)
    tree.grow("step", 4.5, "other")
    assert tree.diverse(3) == ["a", "step", "bold"]


def test_another_line_that_is_far_behind_has_to_be_a_detour(tree: Tree) -> None:
    for name, milliseconds in {"a": 4.0, "b": 5.0, "c": 6.0}.items():
        tree.grow(name, milliseconds, "root")
    tree.grow("bold", 9, "root", promise=2.0)
    tree.grow("other", 60)
    tree.grow("step", 4 * LONGEST_DETOUR + 0.1, "other")
    assert tree.diverse(3) == ["a", "b", "bold"]


def test_a_repaired_detour_is_compared_with_the_kernels_that_worked(tree: Tree) -> None:
    for name, milliseconds in {"a": 5.0, "b": 6.0, "c": 7.0}.items():
        tree.grow(name, milliseconds, "root")
    tree.grow("broken", None, "root", promise=2.0)
    tree.grow("fixed", 9, "broken", promise=2.0, repairs=True)
    assert tree.diverse(3) == ["a", "b", "fixed"]


def test_a_step_that_wins_back_what_a_detour_lost_is_a_detour_still(tree: Tree) -> None:
    for name, milliseconds in {"a": 5.0, "b": 6.0, "c": 7.0}.items():
        tree.grow(name, milliseconds, "root")
    tree.grow("back", 10, "root", promise=2.0)
    tree.grow("level", 8, "back", promise=1.5)
    assert tree.diverse(3) == ["a", "b", "level"]


def test_a_detour_does_not_drift_away_step_by_step(tree: Tree) -> None:
    for name, milliseconds in {"a": 5.0, "b": 6.0, "c": 7.0}.items():
        tree.grow(name, milliseconds, "root")
    tree.grow("back", 11, "root", promise=2.0)
    tree.grow("further", 13, "back", promise=2.0)
    assert tree.diverse(3) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("milliseconds", "gain", "detour"),
    [
        (7.0, (0.99, 1.3), True),  # a lucky time: launched in turn, it may as well be slower
        (7.0, (1.01, 1.3), False),
        (7.9, (1.01, 1.03), False),  # a small gain, but a sure one
        (8.2, (1.01, 1.03), False),  # an unlucky time
        (7.9, (0.99, 1.03), True),
        (9.0, (0.8, 0.9), True),
        (13.0, (0.5, 0.7), False),  # too far back
        (7.9, None, True),
        (7.0, None, False),
    ],
)
def test_launches_in_turn_decide_whether_a_kernel_has_gained(
    tree: Tree, milliseconds: float, gain: tuple[float, float] | None, detour: bool
) -> None:
    for name, faster in {"a": 5.0, "b": 6.0, "c": 6.5}.items():
        tree.grow(name, faster, "root")
    tree.grow("step", milliseconds, "root", promise=2.0, gain=gain)
    assert tree.diverse(3) == ["a", "b", "step" if detour else "c"]


def test_a_gain_on_a_parent_that_lost_is_none_on_the_fastest_before(tree: Tree) -> None:
    for name, milliseconds in {"a": 5.0, "b": 6.0, "c": 7.0}.items():
        tree.grow(name, milliseconds, "root")
    tree.grow("back", 10, "root", promise=2.0)
    tree.grow("level", 8, "back", promise=1.5, gain=(1.2, 1.3))
    assert tree.diverse(3) == ["a", "b", "level"]


def test_the_conv2d_trajectory_survives_its_steps_back() -> None:
    """The published winning line, with a rival at each step that is faster at once but leads nowhere.

    `diverse` must keep the line's newest kernel in the beam at every step; greedy top-1 loses it.
    """
    line = [7.02, 7.54, 3.46, 3.67, 3.46, 1.91, 1.37, 1.38, 1.37, 1.36, 1.07, 1.21, 1.01, 0.795]
    tree = Tree()
    tree.grow("step 0", line[0])
    lost: dict[str, list[int]] = {"fastest": [], "diverse": []}
    for step, milliseconds in enumerate(line[1:], start=1):
        before = f"step {step - 1}"
        tree.grow(f"step {step}", milliseconds, before, promise=1.5)
        tree.grow(f"rival {step}", 0.97 * min(line[: step + 1]), before, promise=1.05)
        lost["diverse"] += [step] * (f"step {step}" not in tree.diverse(4))
        lost["fastest"] += [step] * (f"step {step}" not in tree.fastest(1))
    assert lost["diverse"] == []
    assert {1, 3, 7, 11} <= set(lost["fastest"])


@pytest.mark.parametrize("beam", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_fills_the_beam_with_distinct_kernels(tree: Tree, policy: str, beam: int) -> None:
    for place in range(10):
        tree.grow(f"a{place}", 3 + place, "root", promise=2.0)
    chosen = POLICIES[policy](tree.lineage, beam)
    assert len(chosen) == len(set(chosen)) == beam
    assert tree.names(chosen)[0] == "a0"


def test_policies_are_found_by_name() -> None:
    assert named("diverse") is diverse
    assert named("fastest") is fastest


def test_an_unknown_policy_names_the_choices() -> None:
    with pytest.raises(UsageError, match="'greedy'; choose one of diverse, fastest"):
        named("greedy")


# ── ideas ───────────────────────────────────────────────────────────────────────────────────────


def idea(title: str, speedup: float, risk: str = "") -> Idea:
    return Idea(title, Category.COMPUTE, "mechanism", speedup, risk)


SAFE, SOLID = idea("safe", 1.05, "Low: nothing can go wrong."), idea("solid", 1.5, "low")
BOLD, WILD = idea("bold", 3.0, "medium; low occupancy"), idea("wild", 5.0, "High. May fail.")
DULL = idea("dull", 1.0)


def test_the_best_expected_the_boldest_and_the_safest_are_kept_first() -> None:
    assert keep([DULL, SAFE, SOLID, BOLD, WILD], 3) == (BOLD, WILD, SOLID)
    assert keep([DULL, SAFE, SOLID, BOLD, WILD], 4) == (BOLD, WILD, SOLID, SAFE)


def test_one_idea_is_the_one_with_most_to_expect() -> None:
    assert keep([DULL, SAFE, WILD, SOLID, BOLD], 1) == (BOLD,)
    assert keep([SAFE, idea("no risk named", 1.5)], 1) == (idea("no risk named", 1.5),)


def test_as_many_ideas_are_kept_as_there_are() -> None:
    assert keep([DULL], 3) == (DULL,)
    assert keep([], 3) == ()
