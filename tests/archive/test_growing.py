"""A run that is read while it grows: what was read once is kept, and what is new is always seen."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from treesearch.archive import Archive, Finding, Kind, whole
from treesearch.lineage import Lineage
from treesearch.records import Decision, Edge, Kernel, Relation, Run, Status, Verb

if TYPE_CHECKING:
    from tests.archive.conftest import Samples


@pytest.fixture
def run(archive: Archive, samples: Samples) -> Run:
    return samples.fill(archive)


def first(archive: Archive, run: Run) -> Kernel:
    return archive.entries(run.id)[0].kernel


def refine(archive: Archive, samples: Samples, run: Run, ordinal: str = "10.0") -> Kernel:
    parent, kernel = first(archive, run), samples.kernel(archive, run, 2, ordinal)
    archive.save_kernel(kernel, [Edge(parent.id, kernel.id, Relation.REFINES)])
    return kernel


def judge(archive: Archive, samples: Samples, run: Run) -> None:
    archive.save_evaluation(refine(archive, samples, run).id, samples.verified())


def judge_again(archive: Archive, samples: Samples, run: Run) -> None:
    archive.save_evaluation(first(archive, run).id, samples.failed(), 2)


def judge_elsewhere(archive: Archive, samples: Samples, run: Run) -> None:
    archive.save_evaluation(first(archive, run).id, samples.verified(samples.other_device), 2)


def suspect(archive: Archive, samples: Samples, run: Run) -> None:
    archive.save_finding(Finding(first(archive, run).id, Kind.SUSPECT, "too good"))


def ban(archive: Archive, samples: Samples, run: Run) -> None:
    [proposal, *_] = [entry.kernel.proposal for entry in archive.entries(run.id) if entry.kernel.proposal]
    archive.save_decision(Decision(run.id, Verb.BAN, proposal.idea, proposal.parent, proposal.id))


Write = Callable[[Archive, "Samples", Run], object]
WRITES = [refine, judge, judge_again, judge_elsewhere, suspect, ban]


NAMES = """id round ordinal digest idea proposed promise banned status verified milliseconds gain kernel
evaluation""".split()
"""All that an entry says of itself."""


def told(lineage: Lineage) -> list[dict[str, object]]:
    return [{name: getattr(entry, name) for name in NAMES} for entry in lineage.entries]


def agree(archive: Archive, url: str, run: Run) -> bool:
    """Whether an archive that has read before sees what one that was just opened does, and all of it."""
    with Archive(url) as fresh:
        lineage, expected = archive.growing(run.id), fresh.lineage(run.id)
        same_edges = set(lineage.graph.edges(data="relation")) == set(expected.graph.edges(data="relation"))
        standings = [[one.standing(entry.id) for entry in one.entries] for one in (lineage, expected)]
        assert archive.entries(run.id) == expected.entries == archive.lineage(run.id).entries
        assert lineage.entries == expected.entries
        return told(lineage) == told(expected) and same_edges and standings[0] == standings[1]


@pytest.mark.parametrize("write", WRITES)
def test_whatever_another_process_writes_is_seen(
    archive: Archive, url: str, samples: Samples, run: Run, write: Write
) -> None:
    archive.growing(run.id)
    with Archive(url) as other:
        write(other, samples, run)
    assert agree(archive, url, run)


def test_a_kernel_that_is_cleared_or_was_judged_again_counts_as_it_does_now(
    archive: Archive, samples: Samples, run: Run
) -> None:
    def status() -> Status | None:
        return archive.growing(run.id).entries[0].status

    found = [status()]
    for write in (
        suspect,
        lambda *_: archive.save_finding(Finding(first(archive, run).id, Kind.CLEARED, "it is fine")),
    ):
        write(archive, samples, run)
        found.append(status())
    judge_again(archive, samples, run)
    assert [*found, status()] == [Status.VERIFIED, Status.SUSPECT, Status.VERIFIED, Status.WRONG]


def test_where_nothing_is_new_the_same_lineage_is_given(archive: Archive, samples: Samples, run: Run) -> None:
    lineage = archive.growing(run.id)
    assert archive.growing(run.id) is lineage
    judge(archive, samples, run)
    assert archive.growing(run.id) is not lineage


def test_kernels_that_were_read_before_are_not_read_again(archive: Archive, samples: Samples, run: Run) -> None:
    before = {entry.id: entry for entry in archive.growing(run.id).entries}
    judge(archive, samples, run)
    after = {entry.id: entry for entry in archive.growing(run.id).entries}
    assert len(after) == len(before) + 1
    assert all(after[id] is before[id] for id in before)


def test_what_is_long_of_a_kernel_is_not_kept(archive: Archive, samples: Samples, run: Run) -> None:
    def grow(first: int, count: int) -> int:
        """Bytes that are kept since."""
        tracemalloc.start()
        for place in range(first, first + count):
            kernel = samples.kernel(archive, run, 2, f"{place}.0")
            archive.save_kernel(replace(kernel, source=f"// {place}" * 2000))
            archive.save_evaluation(kernel.id, samples.verified())
        assert len(archive.growing(run.id).entries) >= count
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return held

    grow(0, 100)  # statements that are made once, and kernels that are kept for whoever asks next
    assert grow(100, 400) < 400 * 4000, "the sources alone are three times as long"


def test_more_kernels_at_once_than_a_query_can_name_are_all_read(
    archive: Archive, url: str, samples: Samples, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole, "NAMED", 3)
    count = len(archive.growing(run.id).entries)
    for place in range(4):
        archive.save_evaluation(refine(archive, samples, run, f"{place}.0").id, samples.verified())
    assert agree(archive, url, run)
    assert len(archive.growing(run.id).entries) == count + 4


def test_runs_that_are_read_in_turn_are_not_mixed_up(archive: Archive, url: str, samples: Samples, run: Run) -> None:
    other = samples.open(archive, new=True)
    kernel = samples.kernel(archive, other)
    archive.save_kernel(kernel)
    for _ in range(2):
        assert [entry.kernel for entry in archive.growing(other.id).entries] == [kernel]
        assert agree(archive, url, run)
    assert archive.entries("nobody") == archive.growing("nobody").entries == ()
