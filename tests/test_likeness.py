"""Which ideas say the same again."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import pytest

from treesearch import resources
from treesearch.archive import Archive
from treesearch.likeness import DUPLICATE_THRESHOLD, Subjects, near_duplicate
from treesearch.records import Category, Idea

STREAM = Idea(
    "Non-temporal stores for the output",
    Category.MEMORY,
    "Write the output with streaming stores so that lines are not read before they are overwritten.",
    1.3,
    "",
)
STREAM_AGAIN = Idea(
    "Use streaming stores for outputs",
    Category.MEMORY,
    "Writing the output with non-temporal streaming stores, so the lines are not read before being overwritten.",
    1.5,
    "Slower in cache.",
)
PREFETCH = Idea(
    "Prefetch the next row of the input",
    Category.ASYNCHRONY,
    "Issue software prefetches for the next row while the current row is computed, so that its lines are in L1.",
    1.1,
    "",
)
PREFETCH_OUTPUT = Idea(
    "Prefetch the output with write intent",
    Category.MEMORY,
    "Prefetch lines of the output before they are written, so that the stores do not wait for ownership.",
    1.1,
    "",
)


def test_a_reworded_idea_is_a_near_duplicate() -> None:
    assert near_duplicate(STREAM_AGAIN, [PREFETCH, STREAM]) is STREAM
    assert near_duplicate(STREAM, [PREFETCH, STREAM_AGAIN]) is STREAM_AGAIN


@pytest.mark.parametrize("other", [PREFETCH, PREFETCH_OUTPUT])
def test_different_means_to_a_similar_end_are_different_ideas(other: Idea) -> None:
    assert near_duplicate(STREAM, [other]) is None
    assert near_duplicate(PREFETCH, [PREFETCH_OUTPUT]) is None


def test_ideas_of_one_category_and_title_are_near_duplicates() -> None:
    same = Idea("The output: non-temporal stores", Category.MEMORY, "Saves bandwidth.", 1.1, "")
    elsewhere = Idea(same.title, Category.COMPUTE, "Other words entirely.", 1.1, "")
    assert near_duplicate(same, [STREAM]) is STREAM
    assert near_duplicate(elsewhere, [STREAM]) is None


def test_the_nearest_of_several_duplicates_is_named() -> None:
    assert near_duplicate(STREAM, [STREAM_AGAIN, STREAM]) is STREAM


def test_nothing_duplicates_nothing() -> None:
    assert near_duplicate(STREAM, []) is None


@pytest.mark.parametrize(("shared", "duplicate"), [(3, True), (2, False)])
def test_the_threshold_is_a_share_of_the_words_of_both(shared: int, duplicate: bool) -> None:
    """`shared` of the one's three words are also in the other, which has five: 3/5 reaches 0.6, 2/6 does not."""
    assert DUPLICATE_THRESHOLD == 0.6
    words = ["tile", "pack", "mask", "peel", "swap"]
    one = Idea("tile", Category.MEMORY, " ".join(words[1:shared] + ["hoist"] * (3 - shared)), 1.1, "")
    other = Idea("tile", Category.COMPUTE, " ".join(words[1:]), 1.1, "")
    assert (near_duplicate(one, [other]) is other) is duplicate


# ── subjects ────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def record() -> Iterator[Archive]:
    with Archive(resources.record(), read_only=True) as archive:
        yield archive


LOADS = Idea("Wider loads", Category.MEMORY, "The kernel loads four neighbouring values of the tile at once.", 1.1, "")
VECTORS = Idea(
    "Vector fetch", Category.COMPUTE, "Loads of the tile take four neighbouring values, a float4, at once.", 1.1, ""
)
EXPONENT = Idea("Cheaper exponential", Category.COMPUTE, "The kernel has a polynomial for the tile's exp.", 1.1, "")


def test_words_that_all_ideas_have_say_little_about_a_subject() -> None:
    subjects = Subjects([LOADS, VECTORS, EXPONENT])
    assert subjects.cosine(LOADS, LOADS) == pytest.approx(1)
    assert subjects.cosine(LOADS, VECTORS) > 2 * subjects.cosine(LOADS, EXPONENT)
    assert subjects.shared(VECTORS, [EXPONENT, LOADS]) is LOADS
    assert subjects.shared(EXPONENT, [LOADS, VECTORS]) is None
    assert subjects.shared(LOADS, []) is None


def test_words_that_no_idea_has_had_count_as_rare() -> None:
    assert Subjects([]).cosine(LOADS, LOADS) == pytest.approx(1)
    assert Subjects([LOADS]).cosine(VECTORS, EXPONENT) < 0.5


def test_ideas_of_the_recorded_searches_that_are_one_in_other_words_have_one_subject(record: Archive) -> None:
    """Titles are quoted as two answers to different questions had them; a person read the mechanisms."""
    pairs = {
        "conv2d": ("Last 24 blocks, placed late behind", "Blocks that start behind prepare get fewer"),
        "conv2d_relu_maxpool": ("Storer warpgroup: consumers hand", "Dedicated storer warps: consumers drop"),
        "layernorm": ("Reset kernel under programmatic", "Hide the counter reset: zeroing kernel"),
    }
    for problem, beginnings in pairs.items():
        ideas = _ideas(record, problem)
        one, other = (next(idea for idea in ideas if idea.title.startswith(title)) for title in beginnings)
        assert Subjects(ideas).shared(one, [other]) is other
        assert near_duplicate(one, [other]) is None, "their words are too different"


def test_few_pairs_of_a_recorded_search_have_one_subject(record: Archive) -> None:
    ideas = _ideas(record, "conv2d")
    subjects = Subjects(ideas)
    pairs = list(combinations(ideas, 2))
    assert len(pairs) > 1000
    assert sum(subjects.shared(one, [other]) is not None for one, other in pairs) < 0.02 * len(pairs)


def _ideas(record: Archive, problem: str) -> list[Idea]:
    run = next(run for run in record.runs() if run.problem_name == problem)
    return [proposal.idea for proposal in record.proposals(run.id)]
