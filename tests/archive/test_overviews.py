"""Overviews of runs, which read and count little: they say the same as the lineage does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks import large
from treesearch.archive import Archive, Finding, Kind
from treesearch.lineage import Lineage, standing
from treesearch.records import Decision, Edge, Entry, Evaluation, Measurement, Relation, Run, Status, Timing, Verb

if TYPE_CHECKING:
    from tests.archive.conftest import Samples


@pytest.fixture
def run(archive: Archive, samples: Samples) -> Run:
    return samples.fill(archive)


def short(entry: Entry) -> Entry:
    """What an outline keeps of it."""
    judged = entry.evaluation
    kernel = replace(entry.kernel, source=None)
    return replace(entry, kernel=kernel, evaluation=_short_verdict(judged) if judged else None, **_judged(entry))


def _judged(entry: Entry) -> dict[str, Evaluation]:
    judged = getattr(entry, "judged", None)
    return {"judged": _short_verdict(judged)} if judged else {}


def _short_verdict(judged: Evaluation) -> Evaluation:
    measured = _medians(judged.measurement) if judged.measurement else None
    return replace(judged, measurement=measured, profile="", build=None, software=())


def _medians(measured: Measurement) -> Measurement:
    compiled = Timing((measured.compile.median,)) if measured.compile else None
    kernel, eager = Timing((measured.kernel.median,)), Timing((measured.eager.median,))
    return replace(measured, kernel=kernel, eager=eager, compile=compiled, conditions=None)


def agree(archive: Archive, run: Run) -> bool:
    """Whether outline and summary of a run say what its lineage does."""
    lineage, outline = archive.lineage(run.id), archive.outline(run.id)
    summary = next(one for one in archive.summaries() if one.run == archive.run(run.id))
    same_edges = set(lineage.graph.edges(data="relation")) == set(outline.graph.edges(data="relation"))
    return (
        outline.entries == tuple(map(short, lineage.entries))
        and same_edges
        and summary.statuses == statuses(lineage)
        and summary.kernels == len(lineage.entries)
        and fastest(summary.fastest) == fastest(lineage.fastest())
    )


def statuses(lineage: Lineage) -> Counter[Status | None]:
    return Counter(entry.evaluation.status if entry.evaluation else None for entry in lineage.entries)


def fastest(entry: Entry | None) -> tuple[str, float | None] | None:
    return (entry.kernel.id, entry.milliseconds) if entry else None


def first(archive: Archive, run: Run) -> str:
    return archive.entries(run.id)[0].kernel.id


def refine(archive: Archive, samples: Samples, run: Run) -> None:
    parent, kernel = first(archive, run), samples.kernel(archive, run, 2, "10.0")
    archive.save_kernel(kernel, [Edge(parent, kernel.id, Relation.REFINES)])
    archive.save_evaluation(kernel.id, samples.verified())


def judge_again(archive: Archive, samples: Samples, run: Run) -> None:
    archive.save_evaluation(first(archive, run), samples.failed(), 2)


def judge_elsewhere(archive: Archive, samples: Samples, run: Run) -> None:
    archive.save_evaluation(first(archive, run), samples.verified(samples.other_device), 2)


def suspect(archive: Archive, samples: Samples, run: Run) -> None:
    archive.save_finding(Finding(first(archive, run), Kind.SUSPECT, "too good"))


def clear(archive: Archive, samples: Samples, run: Run) -> None:
    suspect(archive, samples, run)
    archive.save_finding(Finding(first(archive, run), Kind.CLEARED, "it is fine"))


def ban(archive: Archive, samples: Samples, run: Run) -> None:
    [proposal, *_] = [entry.kernel.proposal for entry in archive.entries(run.id) if entry.kernel.proposal]
    archive.save_decision(Decision(run.id, Verb.BAN, proposal.idea, proposal.parent, proposal.id))


Write = Callable[[Archive, "Samples", Run], object]
WRITES = [refine, suspect, judge_elsewhere, ban, clear, judge_again]


def test_overviews_say_what_the_lineage_does(archive: Archive, run: Run) -> None:
    assert agree(archive, run)


def test_overviews_heed_whatever_was_found_out_or_decided(archive: Archive, samples: Samples, run: Run) -> None:
    for write in WRITES:
        write(archive, samples, run)
        assert agree(archive, run), write


def test_runs_are_summed_up_newest_first_each_on_its_own(archive: Archive, samples: Samples, run: Run) -> None:
    again = samples.open(archive, new=True)
    suspect(archive, samples, run)
    newest, oldest = archive.summaries()
    assert (newest.run, newest.statuses, newest.fastest) == (archive.run(again.id), {}, None)
    assert oldest.run == archive.run(run.id)
    assert oldest.statuses == {Status.SUSPECT: 1, Status.WRONG: 1, None: 1}
    assert oldest.fastest is None


def test_an_outline_has_the_beginning_of_a_long_error(archive: Archive, samples: Samples, run: Run) -> None:
    kernel = samples.kernel(archive, run, 3)
    archive.save_kernel(kernel)
    archive.save_evaluation(kernel.id, samples.failed(Status.BUILD_FAILED, "x" * 100_000))
    judged = archive.outline(run.id).entry(kernel.id).evaluation
    assert judged is not None
    assert judged.error == "x" * 2000


def test_answers_can_be_read_without_their_texts(archive: Archive, run: Run) -> None:
    whole = archive.answers(run.id)
    expected = [(replace(request, prompt=""), replace(answer, text="")) for request, answer in whole]
    assert list(archive.answered(run.id)) == expected
    assert whole


def test_a_made_up_search_with_findings_is_summed_up_as_its_lineages_are(tmp_path: Path) -> None:
    large.prepare(tmp_path / "archive.db", 3, 300, 200)
    with Archive(tmp_path / "archive.db", read_only=True) as made:
        assert all(agree(made, run) for run in made.runs())
        assert any(standing(entry) for entry in made.entries(made.runs()[-1].id))


def test_summaries_are_not_counted_again_where_nothing_is_new(archive: Archive, samples: Samples, run: Run) -> None:
    [before], [after] = archive.summaries(), archive.summaries()
    assert after.statuses is before.statuses
    refine(archive, samples, run)
    archive.finish(run.id, 7)
    [later] = archive.summaries()
    assert later.kernels == before.kernels + 1
    assert later.run.config.rounds == 7
