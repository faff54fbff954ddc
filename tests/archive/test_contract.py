"""What every archive does, whichever database holds it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from treesearch.archive import Archive
from treesearch.errors import ArchiveError, UsageError
from treesearch.records import (
    Accuracy,
    Budget,
    Config,
    Edge,
    Kernel,
    Price,
    Problem,
    Protocol,
    Relation,
    Round,
    Run,
    RunState,
    Spending,
    Stage,
    Status,
    Usage,
)

if TYPE_CHECKING:
    from tests.archive.conftest import Samples


@pytest.fixture
def run(archive: Archive, samples: Samples) -> Run:
    return samples.open(archive)


# ── runs ────────────────────────────────────────────────────────────────────────────────────────


def test_a_new_run_has_all_that_it_was_opened_with(archive: Archive, samples: Samples, run: Run) -> None:
    assert run.problem == samples.problem.digest
    assert run.problem_name == "bias_relu"
    assert run.config == samples.config
    assert run.config.identity == samples.config.identity
    assert run.device == samples.device.id
    assert run.state is RunState.RUNNING
    assert run.created.endswith("+00:00")
    assert len(run.id) == 8
    assert archive.run(run.id) == run


def test_problem_and_device_come_back_as_they_were(archive: Archive, samples: Samples, run: Run) -> None:
    assert archive.problem(run.problem) == samples.problem
    assert archive.problems() == (samples.problem,)
    assert archive.device(run.device) == samples.device


@pytest.mark.parametrize("language", ["cuda", "cpp"])
def test_opening_alike_goes_on_with_the_latest_run(archive: Archive, samples: Samples, language: str) -> None:
    config = replace(samples.config, language=language)
    first = archive.open_run(samples.problem, config, samples.device)
    second = archive.open_run(samples.problem, config, samples.device, new=True)
    assert second.id != first.id
    assert archive.open_run(samples.problem, config, samples.device) == second
    assert archive.runs() == (second, first)
    assert archive.latest_run() == second


def test_another_problem_configuration_or_device_is_another_run(archive: Archive, samples: Samples, run: Run) -> None:
    problem = replace(samples.problem, source="other")
    others = {
        archive.open_run(problem, samples.config, samples.device).id,
        archive.open_run(samples.problem, replace(samples.config, beam=1), samples.device).id,
        archive.open_run(samples.problem, samples.config, samples.other_device).id,
    }
    assert len(others - {run.id}) == 3


def test_more_rounds_wake_a_finished_run(archive: Archive, samples: Samples, run: Run) -> None:
    archive.finish(run.id, run.config.rounds)
    assert samples.open(archive).state is RunState.DONE
    more = archive.open_run(samples.problem, replace(samples.config, rounds=9), samples.device)
    assert (more.id, more.config.rounds, more.state) == (run.id, 9, RunState.RUNNING)


def test_fewer_rounds_leave_a_finished_run_as_it_was(archive: Archive, samples: Samples, run: Run) -> None:
    archive.finish(run.id, run.config.rounds)
    fewer = archive.open_run(samples.problem, replace(samples.config, rounds=1), samples.device)
    assert (fewer.config.rounds, fewer.state) == (run.config.rounds, RunState.DONE)


def test_a_run_that_ends_sooner_than_it_was_meant_to_says_how_many_rounds_it_had(archive: Archive, run: Run) -> None:
    archive.save_round(Round(run.id, 2, ()))
    archive.finish(run.id, 1)
    assert archive.run(run.id).config.rounds == 2, "that many have begun"
    archive.finish(run.id, 3)
    assert (archive.run(run.id).config.rounds, archive.run(run.id).state) == (3, RunState.DONE)


def test_a_run_that_stopped_at_a_limit_says_so_and_goes_on_with_another_budget(
    archive: Archive, samples: Samples, run: Run
) -> None:
    archive.finish(run.id, 2, "$1.00 of $1.00 are used")
    stopped = archive.run(run.id)
    assert (stopped.state, stopped.stopped) == (RunState.STOPPED, "$1.00 of $1.00 are used")
    more = replace(samples.config, budget=Budget(usd=2.0, patience=3), prices=(Price("openai/o3", 2.0, 8.0),))
    again = archive.open_run(samples.problem, more, samples.device)
    assert (again.id, again.state, again.stopped) == (run.id, RunState.RUNNING, "")
    assert (again.config.budget, again.config.prices) == (more.budget, more.prices)
    archive.finish(run.id, 2)
    assert archive.run(run.id).state is RunState.DONE


def test_a_configuration_without_optional_values_comes_back(archive: Archive, samples: Samples) -> None:
    config = Config(models=("replay/archive.db",))
    assert archive.open_run(samples.problem, config, samples.device).config == config


def test_a_renamed_problem_keeps_its_run_and_shows_its_new_name(archive: Archive, samples: Samples, run: Run) -> None:
    renamed = replace(samples.problem, name="softly")
    again = archive.open_run(renamed, samples.config, samples.device)
    assert (again.id, again.problem_name) == (run.id, "softly")


def test_an_empty_archive_has_no_latest_run(archive: Archive) -> None:
    assert archive.latest_run() is None
    with pytest.raises(UsageError, match="there is none yet"):
        archive.run("a")


def test_a_run_is_found_by_the_beginning_of_its_id(archive: Archive, run: Run) -> None:
    assert archive.run(run.id[:3].upper()) == run


def test_an_id_longer_than_any_is_unknown(archive: Archive, run: Run) -> None:
    with pytest.raises(UsageError, match=r"^no run in .* has an id that starts with"):
        archive.run(run.id + "a" * 60_000)


def test_unknown_and_ambiguous_beginnings_name_candidates(archive: Archive, samples: Samples) -> None:
    ids = [samples.open(archive, new=True).id for _ in range(20)]
    first = next(id[0] for id in ids if sum(other[0] == id[0] for other in ids) > 1)
    with pytest.raises(UsageError, match="more than one run") as ambiguous:
        archive.run(first)
    assert all(id in str(ambiguous.value) for id in ids if id[0] == first)
    for unknown in ("nothing", "", "%", "_"):
        with pytest.raises(UsageError, match=min(ids)):
            archive.run(unknown)


def test_what_is_not_there_is_a_usage_error(archive: Archive) -> None:
    with pytest.raises(UsageError, match="no problem 'x'"):
        archive.problem("x")
    with pytest.raises(UsageError, match="no device 'x'"):
        archive.device("x")
    with pytest.raises(UsageError, match="no run 'x'"):
        archive.finish("x", 1)


def test_rounds_come_back_in_order_and_the_first_choice_of_parents_stays(archive: Archive, run: Run) -> None:
    archive.save_round(Round(run.id, 10, ("c",)))
    archive.save_round(Round(run.id, 2, ("a", "b")))
    archive.save_round(Round(run.id, 2, ("z",)))
    assert archive.rounds(run.id) == (Round(run.id, 2, ("a", "b")), Round(run.id, 10, ("c",)))


# ── answers ─────────────────────────────────────────────────────────────────────────────────────


def test_an_answer_comes_back_with_its_request(archive: Archive, samples: Samples, run: Run) -> None:
    request, answer = samples.request(run, 2, Stage.REPAIR, "3.0r1", "abc"), samples.answer()
    assert archive.answer(request.id) is None
    archive.save_answer(request, answer)
    stored = archive.answer(request.id)
    assert stored is not None
    assert stored.created
    assert replace(stored, created="") == answer
    assert archive.answers(run.id) == ((request, stored),)


def test_the_first_answer_to_a_request_stays(archive: Archive, samples: Samples, run: Run) -> None:
    archive.save_answer(samples.request(run), samples.answer("first", created="2026-01-02T03:04:05+00:00"))
    returned = archive.save_answer(samples.request(run), samples.answer("second"))
    ((_, stored),) = archive.answers(run.id)
    assert returned == stored
    assert (stored.text, stored.created) == ("first", "2026-01-02T03:04:05+00:00")


def test_answers_come_by_round_stage_and_ordinal(archive: Archive, samples: Samples, run: Run) -> None:
    places = [
        (0, Stage.KERNEL, "2.0"),
        (0, Stage.KERNEL, "10.0"),
        (1, Stage.IDEAS, "0"),
        (1, Stage.KERNEL, "9.1"),
        (1, Stage.REPAIR, "9.1r1"),
        (2, Stage.IDEAS, "0"),
    ]
    for place in reversed(places):
        archive.save_answer(samples.request(run, *place), samples.answer())
    assert [(q.round, q.stage, q.ordinal) for q, _ in archive.answers(run.id)] == places


def test_answers_about_a_problem_come_from_all_its_runs(archive: Archive, samples: Samples, run: Run) -> None:
    newer = samples.open(archive, new=True)
    stranger = archive.open_run(replace(samples.problem, source="other"), samples.config, samples.device)
    for each in (newer, stranger, run):
        samples.answered(archive, each, 1)
        samples.answered(archive, each, 0)
    found = [(request.run, request.round) for request, _ in archive.answers_for(samples.problem.digest, "cuda")]
    assert found == [(run.id, 0), (run.id, 1), (newer.id, 0), (newer.id, 1)]


def test_answers_about_a_problem_are_told_apart_by_language(archive: Archive, samples: Samples, run: Run) -> None:
    other = archive.open_run(samples.problem, replace(samples.config, language="cpp"), samples.other_device)
    for each in (other, run):
        samples.answered(archive, each)
    found = {
        language: [request.run for request, _ in archive.answers_for(samples.problem.digest, language)]
        for language in ("cuda", "cpp", "other")
    }
    assert found == {"cuda": [run.id], "cpp": [other.id], "other": []}


def test_every_failed_ask_is_kept(archive: Archive, samples: Samples, run: Run) -> None:
    for error in ("overloaded", "overloaded", "refused"):
        archive.save_failed_ask(samples.request(run), "openai/o3", error)
    archive.save_failed_ask(samples.request(run), "openai/o3", "cut off", text="half a ker", usage=Usage(9, 8, 0.5))
    failed = archive.failed_asks(run.id)
    assert [ask.error for ask in failed] == ["overloaded", "overloaded", "refused", "cut off"]
    assert {(ask.request, ask.model) for ask in failed} == {(samples.request(run).id, "openai/o3")}
    assert all(ask.created for ask in failed)
    assert [(ask.text, ask.usage) for ask in failed[2:]] == [("", Usage()), ("half a ker", Usage(9, 8, 0.5))]


@pytest.mark.parametrize(
    ("usages", "total"),
    [
        ([], Spending()),
        ([Usage(), Usage()], Spending(2, 2, None, None, None)),
        ([Usage(5, 7, 0.5), Usage(), Usage(1, None, 0.25)], Spending(3, 1, 6, 7, 0.75)),
        ([Usage(2**31 - 1, 0, 0.0)] * 2, Spending(2, 0, 2**32 - 2, 0, 0.0)),
    ],
)
def test_spending_sums_tokens_and_money_that_are_known_and_counts_answers_without_a_price(
    archive: Archive, samples: Samples, run: Run, usages: list[Usage], total: Spending
) -> None:
    for ordinal, usage in enumerate(usages):
        archive.save_answer(samples.request(run, ordinal=str(ordinal)), samples.answer(usage=usage))
    spent = archive.spend(run.id)
    assert spent == total
    assert isinstance(spent.input_tokens, int | None)


def test_text_that_no_database_takes_is_stored_with_replacements(archive: Archive, samples: Samples, run: Run) -> None:
    returned = archive.save_answer(samples.request(run), samples.answer("a\0b\ud800c 🙂"))
    ((request, stored),) = archive.answers(run.id)
    assert returned == stored
    assert stored.text == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c 🙂"
    kernel = Kernel(run.id, 0, "0.0", "cuda", "int\0x;", request.id)
    archive.save_kernel(kernel)
    archive.save_evaluation(kernel.id, samples.failed(error="\0", software=("torch \0",)))
    (entry,) = archive.entries(run.id)
    assert entry.kernel.source == "int\N{REPLACEMENT CHARACTER}x;"
    assert entry.evaluation is not None
    assert entry.evaluation.error == "\N{REPLACEMENT CHARACTER}"


# ── the lineage ─────────────────────────────────────────────────────────────────────────────────


def test_proposals_come_back_by_round_in_order(archive: Archive, samples: Samples, run: Run) -> None:
    answer = samples.answered(archive, run, 1)
    proposals = [samples.proposal(run, "p", answer, ordinal, "near-duplicate" * (ordinal == 2)) for ordinal in (11, 2)]
    archive.save_proposals(proposals)
    archive.save_proposals([replace(proposals[0], dropped="later")])
    assert archive.proposals(run.id) == (proposals[1], proposals[0])
    assert archive.proposals(run.id, 1) == (proposals[1], proposals[0])
    assert archive.proposals(run.id, 2) == ()
    archive.save_proposals([])


def test_a_speedup_that_is_no_number_survives(archive: Archive, samples: Samples, run: Run) -> None:
    proposal = samples.proposal(run, "p", samples.answered(archive, run))
    archive.save_proposals([replace(proposal, idea=replace(proposal.idea, expected_speedup=math.nan))])
    (stored,) = archive.proposals(run.id)
    assert math.isnan(stored.idea.expected_speedup)


def test_proposals_are_stored_all_or_none(archive: Archive, samples: Samples, run: Run) -> None:
    good = samples.proposal(run, "p", samples.answered(archive, run))
    with pytest.raises(ArchiveError, match="refers to one it does not hold"):
        archive.save_proposals([good, replace(good, ordinal=1, answer="unknown")])
    assert archive.proposals(run.id) == ()


def test_a_kernel_comes_back_with_its_proposal_and_run(archive: Archive, samples: Samples, run: Run) -> None:
    proposal = samples.proposal(run, "p", samples.answered(archive, run, 1, "0"))
    archive.save_proposals([proposal])
    kernel = samples.kernel(archive, run, 1, "0.1", proposal)
    archive.save_kernel(kernel)
    archive.save_kernel(replace(kernel, source="later"))
    assert archive.kernel(kernel.id) == (run, kernel)
    assert archive.kernel(kernel.id[:5]) == (run, kernel)
    with pytest.raises(UsageError, match=kernel.id):
        archive.kernel("nothing")


def test_a_slot_without_code_or_answer_is_kept(archive: Archive, run: Run) -> None:
    empty = Kernel(run.id, 0, "0.0", "cuda", None, "")
    archive.save_kernel(empty)
    assert archive.kernel(empty.id) == (run, empty)


def test_a_kernel_and_its_edges_are_stored_all_or_none(archive: Archive, samples: Samples, run: Run) -> None:
    kernel = samples.kernel(archive, run)
    with pytest.raises(ArchiveError, match="refers to one it does not hold"):
        archive.save_kernel(kernel, [Edge("p", kernel.id, Relation.REFINES), Edge("p", "unknown", Relation.REFINES)])
    assert archive.entries(run.id) == ()
    assert archive.edges(run.id) == ()


def test_edges_are_those_of_a_runs_kernels(archive: Archive, samples: Samples, run: Run) -> None:
    parent, child = samples.kernel(archive, run, 0), samples.kernel(archive, run, 1)
    edges = (Edge(parent.id, child.id, Relation.INSPIRED_BY), Edge(parent.id, child.id, Relation.REFINES))
    archive.save_kernel(parent)
    archive.save_kernel(child, edges)
    archive.save_kernel(child, edges)
    other = samples.open(archive, new=True)
    stranger = samples.kernel(archive, other)
    archive.save_kernel(stranger, [Edge(parent.id, stranger.id, Relation.INSPIRED_BY)])
    assert archive.edges(run.id) == edges
    assert archive.edges(other.id) == (Edge(parent.id, stranger.id, Relation.INSPIRED_BY),)


def test_entries_come_by_round_and_ordinal(archive: Archive, samples: Samples, run: Run) -> None:
    places = [(0, "9.2"), (0, "10.0"), (1, "3.0"), (1, "3.0r1"), (1, "3.1"), (1, "10.0"), (10, "0.0")]
    for place in reversed(places):
        archive.save_kernel(samples.kernel(archive, run, *place))
    entries = archive.entries(run.id)
    assert [(entry.kernel.round, entry.kernel.ordinal) for entry in entries] == places
    assert all(entry.evaluation is None for entry in entries)


# ── evaluations ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def kernel(archive: Archive, samples: Samples, run: Run) -> Kernel:
    kernel = samples.kernel(archive, run)
    archive.save_kernel(kernel)
    return kernel


def test_a_verified_evaluation_comes_back_whole(archive: Archive, samples: Samples, kernel: Kernel) -> None:
    evaluation = samples.verified()
    archive.save_evaluation(kernel.id, evaluation)
    (stored,) = archive.evaluations(kernel.id)
    assert stored.created
    assert replace(stored, created="") == evaluation
    assert stored.protocol.id == evaluation.protocol.id
    assert archive.entries(kernel.run)[0].evaluation == stored


@pytest.mark.parametrize("elementwise", [None, 0.0, 3e-5])
def test_how_far_elements_are_off_comes_back(
    archive: Archive, samples: Samples, kernel: Kernel, elementwise: float | None
) -> None:
    accuracy = Accuracy(12, 2e-6, 1e-7, "float64", "float32-like", elementwise)
    archive.save_evaluation(kernel.id, samples.verified(accuracy=accuracy))
    assert [one.accuracy for one in archive.evaluations(kernel.id)] == [accuracy]
    assert archive.outline(kernel.run).entries[0].evaluation.accuracy == accuracy  # type: ignore[union-attr]


def test_an_evaluation_without_torch_compile_comes_back(archive: Archive, samples: Samples, kernel: Kernel) -> None:
    alone = replace(samples.measurement, compile=None, compile_speedup=None, compile_error="graph break")
    archive.save_evaluation(kernel.id, samples.verified(measurement=alone, build=None, software=()))
    (stored,) = archive.evaluations(kernel.id)
    assert stored.measurement == alone
    assert (stored.build, stored.software) == (None, ())


@pytest.mark.parametrize("status", [status for status in Status if not status.timed])
def test_a_failure_comes_back_whole(archive: Archive, samples: Samples, kernel: Kernel, status: Status) -> None:
    evaluation = samples.failed(status, created="2026-01-02T03:04:05+00:00", build=samples.build)
    archive.save_evaluation(kernel.id, evaluation)
    assert archive.evaluations(kernel.id) == (evaluation,)


@pytest.mark.parametrize("error", [math.nan, math.inf])
def test_errors_that_are_no_numbers_survive(archive: Archive, samples: Samples, kernel: Kernel, error: float) -> None:
    archive.save_evaluation(kernel.id, samples.failed(accuracy=Accuracy(1, error, error, "native", "lower")))
    accuracy = archive.evaluations(kernel.id)[0].accuracy
    assert accuracy is not None
    assert str(accuracy) == str(Accuracy(1, error, error, "native", "lower"))


def test_the_first_evaluation_per_device_and_protocol_stays(archive: Archive, samples: Samples, kernel: Kernel) -> None:
    archive.save_device(samples.other_device)
    first = samples.failed(created="2026-01-01T00:00:00+00:00")
    elsewhere = replace(first, device=samples.other_device.id, created="2026-01-02T00:00:00+00:00")
    later = replace(first, protocol=Protocol(0.5), created="2026-01-03T00:00:00+00:00")
    for evaluation in (first, replace(first, error="second thoughts"), elsewhere, later):
        archive.save_evaluation(kernel.id, evaluation)
    assert archive.evaluations(kernel.id) == (first, elsewhere, later)


def test_an_entry_has_the_latest_evaluation_on_the_runs_device(
    archive: Archive, samples: Samples, kernel: Kernel
) -> None:
    archive.save_device(samples.other_device)
    latest = samples.failed(protocol=Protocol(0.5), created="2026-01-02T00:00:00+00:00")
    archive.save_evaluation(kernel.id, latest)
    archive.save_evaluation(kernel.id, samples.failed(created="2026-01-01T00:00:00+00:00"))
    archive.save_evaluation(kernel.id, replace(latest, device=samples.other_device.id, created="2026-01-03"))
    assert archive.entries(kernel.run)[0].evaluation == latest


def test_an_evaluation_of_an_unknown_kernel_or_device_is_refused(
    archive: Archive, samples: Samples, kernel: Kernel
) -> None:
    with pytest.raises(ArchiveError, match="refers to one it does not hold"):
        archive.save_evaluation("unknown", samples.failed())
    with pytest.raises(ArchiveError, match="refers to one it does not hold"):
        archive.save_evaluation(kernel.id, samples.failed(device="unknown"))


# ── other archives ──────────────────────────────────────────────────────────────────────────────


def contents(archive: Archive, run_id: str) -> tuple[object, ...]:
    """All that an archive tells about a run."""
    entries = archive.entries(run_id)
    run = archive.run(run_id)
    return (
        run,
        archive.problem(run.problem),
        archive.device(run.device),
        archive.rounds(run_id),
        archive.answers(run_id),
        archive.failed_asks(run_id),
        archive.proposals(run_id),
        entries,
        archive.edges(run_id),
        [archive.evaluations(entry.kernel.id) for entry in entries],
        archive.spend(run_id),
    )


def test_a_reopened_archive_holds_the_same(archive: Archive, url: str, samples: Samples) -> None:
    run = samples.fill(archive)
    with Archive(url, read_only=True) as again:
        assert contents(again, run.id) == contents(archive, run.id)


def test_a_merged_run_is_the_same_run(archive: Archive, samples: Samples, tmp_path: Path) -> None:
    with Archive(tmp_path / "source.db") as source:
        run = samples.fill(source)
        samples.open(source, new=True)
        archive.merge(source, run.id)
        archive.merge(source, run.id)
        assert contents(archive, run.id) == contents(source, run.id)
        assert archive.runs() == (run,)
        assert archive.device(samples.other_device.id) == samples.other_device


def test_merging_again_adds_what_the_run_has_gained(archive: Archive, samples: Samples, tmp_path: Path) -> None:
    with Archive(tmp_path / "target.db") as target:
        run = samples.fill(archive)
        target.merge(archive, run.id)
        more = replace(samples.config, rounds=9)
        archive.open_run(samples.problem, more, samples.device)
        archive.save_kernel(samples.kernel(archive, run, 2))
        assert contents(target, run.id) != contents(archive, run.id)
        target.merge(archive, run.id)
        assert contents(target, run.id) == contents(archive, run.id)


def test_a_different_run_of_the_same_id_is_not_mixed_in(archive: Archive, samples: Samples, tmp_path: Path) -> None:
    with Archive(tmp_path / "source.db") as source:
        mine, theirs = samples.open(archive), samples.fill(source)
        assert mine.id == theirs.id
        with pytest.raises(UsageError, match="another run"):
            archive.merge(source, theirs.id)
        assert archive.entries(mine.id) == ()


def test_merging_an_unknown_run_is_a_usage_error(archive: Archive, tmp_path: Path) -> None:
    with Archive(tmp_path / "source.db") as source, pytest.raises(UsageError, match="no run 'x'"):
        archive.merge(source, "x")


def test_a_large_problem_survives(archive: Archive, samples: Samples) -> None:
    problem = Problem("large", "x" * 2_000_000, samples.problem.signature)
    run = archive.open_run(problem, samples.config, samples.device)
    assert archive.problem(run.problem) == problem
