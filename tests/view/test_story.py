"""A trajectory as a story: every step in order, with its idea, its outcome and its difference."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.steps import scripted
from tests.view.test_views import DEVICE, HOSTILE, RUN, entries, harmless, lineage
from treesearch import resources
from treesearch.archive import Archive
from treesearch.lineage import Lineage
from treesearch.records import Edge, Entry, Kernel, Relation
from treesearch.view import story
from treesearch.view.story import LONGEST_DIFF, Story


def told(found: Lineage, *path: Entry, said: str = HOSTILE) -> str:
    words = {entry.kernel.id: said for entry in path}
    return story.told(Story(RUN, DEVICE, found, path, words, "### the table"))


@pytest.fixture(scope="module")
def recorded() -> str:
    """That of a winner which was repaired on the way."""
    with Archive(resources.record(), read_only=True) as record:
        run = next(run for run in record.runs() if run.problem_name == "matmul_fp32")
        found = record.lineage(run.id)
        winner = found.fastest()
        assert winner is not None
        return story.told(story.read(record, run, found, found.path(winner.kernel.id)))


def chapters(written: str) -> list[str]:
    return re.findall(r"^## (.*?)$", written, re.MULTILINE)


def test_a_recorded_story_goes_from_the_first_kernel_to_the_winner(recorded: str) -> None:
    assert recorded.startswith("# matmul\\_fp32: from 0.639 ms to 0.343 ms\n")
    first, one, repair, *_, last = chapters(recorded)
    assert first.startswith("The first kernel: 0.639 ms")
    assert one.startswith("Round 1: Drop both e4m3 corrections")
    assert repair.startswith("Round 1, repaired: 0.465 ms")
    assert last.startswith("Round 5: int8 for all of K")


def test_each_step_says_what_was_expected_what_came_and_what_else_was_tried(recorded: str) -> None:
    failed = recorded.partition("## Round 1:")[2].partition("## Round 1, repaired")[0]
    assert "expected 1.9×" in failed
    assert "**wrong, `e2c773e8b30b`: output out of a nominal call: 147238 of 16777216 elements" in failed
    assert "| Product in 2x2 clusters: multicast A as well as B | 1.07× | 0.97× | refuted |" in failed
    repaired = recorded.partition("## Round 1, repaired")[2].partition("## Round 2:")[0]
    assert "**Cause" not in repaired, "what an author wrote is quoted as plain words"
    assert "No index or barrier is wrong" in repaired
    assert repaired.count("```diff") == 1


def test_long_differences_are_cut_and_say_what_prints_the_rest(recorded: str) -> None:
    blocks = re.findall(r"```diff\n(.*?)\n```", recorded, re.DOTALL)
    assert len(blocks) == 6
    assert max(block.count("\n") + 1 for block in blocks) == LONGEST_DIFF
    assert re.search(r"`treesearch diff 62380cf73ab2` prints \d+ lines more than these", recorded)


def test_foreign_text_is_plain_words_and_closes_no_fence() -> None:
    root, child, _ = entries()
    broken = "// ```\n# A heading of its own\n```\n"
    other = replace(child, kernel=replace(child.kernel, source=broken))
    edges = [Edge(root.kernel.id, other.kernel.id, Relation.REFINES)]
    written = told(Lineage([root, other], edges), root, other)
    assert harmless(written)
    outside, fence, _ = written.partition("````diff")
    assert fence
    assert "<b>" not in outside
    assert "![x](y)" not in outside
    assert chapters(written)[-1].startswith("Round 1: ")


def test_a_story_of_one_kernel_is_its_first_chapter() -> None:
    root, *_ = entries()
    written = told(Lineage([root], ()), root, said="One loop.\n\nNothing else.")
    assert chapters(written) == ["The first kernel: 2 ms, 2.00× the better of eager and torch.compile"]
    assert "> One loop.\n>\n> Nothing else." in written


def test_kernels_without_code_and_those_that_wait_are_told_as_such() -> None:
    root, child, _ = entries()
    empty = replace(child, kernel=Kernel("r1", 1, "0.0", "cpp", None, "a2", child.kernel.proposal), evaluation=None)
    edges = [Edge(root.kernel.id, empty.kernel.id, Relation.REFINES)]
    written = told(Lineage([root, empty], edges), root, empty)
    assert "no verdict yet" in written
    assert "```" not in written


def test_the_command_prints_it_and_takes_one_form_at_a_time(tmp_path: Path, recorded: str) -> None:
    archive = str(resources.record())
    done = scripted.typed("trajectory", "matmul_fp32", "--story", "--archive", archive, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, recorded)
    both = scripted.typed("trajectory", "matmul_fp32", "--story", "--json", "--archive", archive, cwd=tmp_path)
    assert both.returncode == 2
    assert "exclude each other" in both.stderr


def test_the_whole_lineage_of_hostile_texts_can_be_told() -> None:
    found = lineage()
    for entry in found.entries:
        assert harmless(told(found, *found.path(entry.kernel.id)))


def test_a_first_kernel_that_failed_says_why_and_the_title_begins_with_the_first_time() -> None:
    root, child, broken = entries()
    first = replace(broken, kernel=replace(root.kernel, ordinal="1.0"))
    repaired = replace(child, kernel=replace(root.kernel, ordinal="1.0r1"))
    edges = [Edge(first.kernel.id, repaired.kernel.id, Relation.REPAIRS)]
    written = told(Lineage([first, repaired], edges), first, repaired)
    assert written.splitlines()[0].endswith(": 1 ms")
    assert "## The first kernel: build failed\n\n" in written
    assert "error: \\[/red\\]" in written
