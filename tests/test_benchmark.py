"""The evaluator's benchmark: which candidates it takes, where it says that time goes, and what it makes of both."""

from __future__ import annotations

import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import agreement, candidates, evaluator, stopwatch, usual
from benchmarks.agreement import Agreement
from benchmarks.candidates import Batch, Candidate
from benchmarks.evaluator import Pass, Singles
from benchmarks.stopwatch import OTHER, PROFILER, SANITIZER, SETTING_UP, STEPS, Stopwatch
from treesearch import problem, resources
from treesearch.errors import UsageError
from treesearch.languages import CPP, CUDA
from treesearch.records import Argument, Problem, Role, Signature, Status

ARGUMENTS = (
    Argument("x", Role.INPUT, "float16", (4, 8)),
    Argument("scale", Role.SCALAR, "float64", ()),
    Argument("weight", Role.PARAMETER, "float32", (8,), "norm.weight"),
    Argument("out", Role.OUTPUT, "bfloat16", (4, 8)),
    Argument("best", Role.OUTPUT, "int64", (4,)),
)
MADE_UP = Problem("made_up", "", Signature(ARGUMENTS), 1e-2)


def batch(name: str, count: int) -> Batch:
    return Batch(MADE_UP, "cpp", 1, tuple(Candidate(f"{name}{number}", "") for number in range(count)))


def sources(batches: tuple[Batch, ...]) -> list[list[str]]:
    return [[candidate.source for candidate in one.candidates] for one in batches]


def test_the_records_kernels_are_read_back_as_they_were_written_down_each_once(tmp_path: Path) -> None:
    written = candidates.prepare(tmp_path / "candidates.json")
    assert candidates.read(tmp_path / "candidates.json") == written
    assert {one.language for one in written.batches} >= {"cpp", "cuda"}
    for one in written.batches:
        assert one.problem.digest == problem.load(one.problem.name).digest
        assert len({candidate.source for candidate in one.candidates}) == len(one.candidates) > 0
        assert any(candidate.parent for candidate in one.candidates), "steps of a search come from others"


def test_kernels_of_other_archives_come_after_the_records(tmp_path: Path) -> None:
    alone = candidates.prepare(tmp_path / "alone.json")
    both = candidates.prepare(tmp_path / "both.json", [str(resources.record())])
    assert both.batches == alone.batches * 2


@pytest.mark.parametrize("content", ["", "{}", "[1]", "my notes"])
def test_another_file_is_refused_with_what_writes_one(tmp_path: Path, content: str) -> None:
    (tmp_path / "notes").write_text(content)
    with pytest.raises(UsageError, match=r"Cannot take .*notes as candidates: .*prepare -o FILE"):
        candidates.read(tmp_path / "notes")


def test_fewer_candidates_are_taken_from_the_problems_in_turn() -> None:
    held = batch("a", 3), batch("b", 1)
    assert sources(candidates.chosen(held, None)) == [["a0", "a1", "a2"], ["b0"]]
    assert sources(candidates.chosen(held, 3)) == [["a0", "a1"], ["b0"]]
    assert sources(candidates.chosen(held, 1)) == [["a0"]]


def test_each_second_counts_for_the_innermost_step_of_its_own_thread() -> None:
    watch = Stopwatch()
    with watch.step("outer"):
        with watch.step("inner"):
            time.sleep(0.02)
        thread = threading.Thread(target=lambda: watch.step("another thread's").__enter__())
        thread.start()
        thread.join()
    found = watch.take()
    assert set(found) == {OTHER, "outer", "inner"}
    assert found["inner"] >= 0.02
    assert set(watch.take()) == {OTHER}, "what was taken is not counted again"


def test_what_is_watched_is_as_it_was_afterwards() -> None:
    before = [vars(owner)[name] for owner, name, _ in STEPS]
    with stopwatch.watching() as watch:
        assert all(vars(owner)[name] is not function for (owner, name, _), function in zip(STEPS, before, strict=True))
        time.sleep(0.01)
        assert watch.take()["pauses"] >= 0.01
    assert [vars(owner)[name] for owner, name, _ in STEPS] == before


def test_a_module_of_the_usual_way_calls_the_kernel_with_its_arguments_in_order() -> None:
    text = usual.wrapper(MADE_UP, CUDA, "int64_t scratch_bytes() { return 9; }")
    assert "torch::empty({4, 8}, t[0].options().dtype(torch::kBFloat16))" in text
    assert "torch::empty({4}, t[0].options().dtype(torch::kInt64))" in text
    passed = text[text.index("launch(") : text.index(") == 0")]
    places = [passed.index(word) for word in ("__half*>(t[0]", "double>(s[0]", "float*>(t[1]", "(out.", "(best.")]
    assert places == sorted(places)
    assert passed.endswith("scratch.data_ptr(), c10::cuda::getCurrentCUDAStream()")
    assert usual.wrapper(MADE_UP, CPP, "").count("nullptr) == 0") == 1


def test_rates_are_of_all_candidates_with_and_without_setting_up() -> None:
    steps = {SETTING_UP[0]: 20.0, "launches": 15.0, SANITIZER: 8.0, PROFILER: 2.0, OTHER: 15.0}
    fresh = Pass(60.0, Counter({Status.VERIFIED: 20}), steps)
    cached = Pass(30.0, Counter({Status.VERIFIED: 20}), {SETTING_UP[0]: 20.0})
    found = usual.Judged(2, 60.0, 1, (20.0, 30.0), ("it failed", "it failed"))
    told = [*evaluator.rates(fresh, "≥ 120"), *evaluator.again(cached, "≥ 200"), *evaluator.beside(found, fresh)]
    rows = {what: figure for what, figure, _ in told}
    assert "ratio" not in {what for what, *_ in evaluator.beside(found, None)}
    assert rows["candidates a minute"] == "20.0 (20 verified)"
    assert rows["… without setting up the problems"] == "30.0 (20 s of it)"
    assert rows["… nor looking closely at the fastest"] == "40.0 (10 s of it)"
    assert rows["… share of the time in which one was started, timed or checked"] == "41.7 %"
    assert rows["… built before"] == "40.0 (20 verified)"
    assert rows["… built before, nor looking closely at the fastest"] == "120.0"
    assert rows["the usual way, 2 of them"] == "2.00 (1 right, builds of 25 s)"
    assert rows["ratio"] == "10.0"
    assert rows["… one that failed"] == "it failed"


def test_a_breakdown_leaves_out_what_takes_no_time() -> None:
    lines = evaluator.breakdown("alone", 2, 4.0, {"launches": 3.0, "pauses": 0.99, "ncu": 0.01}).splitlines()
    assert lines[0] == "| step of a verdict, alone | seconds | share |"
    assert lines[2:] == ["| launches | 1.500 | 75.0 % |", "| pauses | 0.495 | 24.8 % |"]


def test_promoted_candidates_are_told_apart() -> None:
    one, other = Singles((4.0, 30.0), {"launches": 3.0}, (30.0,)), Singles((2.0, 2.5), {"launches": 1.0, "ncu": 2.0})
    singles = evaluator.together([one, other])
    assert singles == Singles((4.0, 30.0, 2.0, 2.5), {"launches": 4.0, "ncu": 2.0}, (30.0,))
    rows = [(what, figure) for what, figure, _ in evaluator.latency(singles, "< 3 s")]
    assert rows[0] == ("answer to verdict, median of 4", "3.25 s (quartiles 2.38 and 10.50)")
    assert rows[1:] == [("… of 1 that were promoted", "30.00 s")]
    assert [what for what, _, _ in evaluator.latency(other, "< 3 s")] == ["answer to verdict, median of 2"]


def test_waiting_for_a_tool_counts_as_the_tools_time() -> None:
    watch = stopwatch.Stopwatch()
    with watch.step(stopwatch.SANITIZER), watch.step(stopwatch.PAUSES):
        pass
    assert stopwatch.PAUSES not in watch.take()
    with watch.step("launches"), watch.step(stopwatch.PAUSES):
        pass
    assert stopwatch.PAUSES in watch.take()


def test_agreement_is_with_those_tools_that_say_something() -> None:
    found = [Agreement("a", 1.0, 0.98, None), Agreement("b", 2.0, 2.1, None)]
    assert agreement.furthest(found, "do_bench") == pytest.approx(0.1 / 2.1)
    assert agreement.furthest(found, "ncu") is None
    assert [what for what, _, _ in evaluator.compared(found)] == ["furthest from do_bench", "furthest from ncu"]
    assert list(evaluator.compared([])) == []
