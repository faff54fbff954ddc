"""What searches came to: the figures to publish where they are there, marked where they are not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.steps import scripted
from tests.view.test_final import LAYOUT, TF32, measured_again
from tests.view.test_hardware import EVALUATION, H100, NORM
from tests.view.test_views import HOSTILE, harmless
from treesearch.archive import Archive
from treesearch.problem import load
from treesearch.problem.published import published
from treesearch.records import (
    Accuracy,
    Config,
    Device,
    Evaluation,
    Kernel,
    Problem,
    Purpose,
    Remeasurement,
    Status,
    Timing,
)

CPU = Device("cpu", "AMD EPYC", 2, 1 << 30)
WRONG = replace(EVALUATION, status=Status.WRONG, error="all of it", measurement=None)


def judged(milliseconds: float, elementwise: float | None = None, device: Device = H100) -> Evaluation:
    assert EVALUATION.measurement is not None
    measurement = replace(EVALUATION.measurement, kernel=Timing((milliseconds,)))
    accuracy = Accuracy(15, 1e-3, 1e-7, "float64", "float16-like", elementwise)
    return replace(EVALUATION, device=device.id, measurement=measurement, accuracy=accuracy)


def searched(
    archive: Archive, *verdicts: Evaluation, problem: Problem = NORM, device: Device = H100, models: str = "file/x"
) -> list[Kernel]:
    """A run with a kernel for each verdict."""
    run = archive.open_run(problem, Config((models,), "cuda"), device)
    kernels = [Kernel(run.id, 0, f"{place}.0", "cuda", f"// {place}", "") for place in range(len(verdicts))]
    for kernel, verdict in zip(kernels, verdicts, strict=True):
        archive.save_kernel(kernel)
        archive.save_evaluation(kernel.id, verdict)
    return kernels


def said(folder: Path, *words: str) -> str:
    done = scripted.typed("results", *words, "--archive", "archive.db", cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def parsed(folder: Path, *words: str) -> list[Any]:
    found = json.loads(said(folder, *words, "--json"))
    assert isinstance(found, list)
    return found


def test_a_winner_without_a_final_measurement_is_marked_and_one_with_it_is_not(tmp_path: Path) -> None:
    with Archive(tmp_path / "archive.db") as archive:
        winner, _ = searched(archive, judged(0.2), judged(0.3))
    (early,) = parsed(tmp_path)
    assert (early["problem"], early["final"], early["milliseconds"]) == (NORM.name, False, 0.2)
    assert "0.2 ms*" in said(tmp_path)
    assert "0.2 ms\\*" in said(tmp_path, "--markdown")
    with Archive(tmp_path / "archive.db") as archive:
        again = replace(measured_again(TF32, LAYOUT), accuracy=judged(1).accuracy)
        archive.save_remeasurement(Remeasurement(winner.id, Purpose.FINAL, again))
    (final,) = parsed(tmp_path)
    assert (final["kernel"], final["final"], final["milliseconds"]) == (winner.id, True, 0.253)
    assert (final["speedup"], final["speedup_interval"]) == (1.86, [1.8, 1.9])
    assert (final["fastest_torch"], final["fastest_torch_speedup"]) == ("TF32", 1.22)
    assert final["floor_percent"] == pytest.approx(100 * final["floor_milliseconds"] / 0.253)
    for written in (said(tmp_path), said(tmp_path, "--markdown")):
        assert "0.253 ms*" not in written.replace("\\", "")
        assert "TF32, 0.31 ms" in written
        assert "1.86× (1.80–1.90)" in written
        assert "71 %" in written


def test_candidates_are_the_judged_and_the_precise_one_is_the_fastest_known_to_be(tmp_path: Path) -> None:
    with Archive(tmp_path / "archive.db") as archive:
        kernels = searched(archive, judged(0.2, 5e-3), judged(0.25), judged(0.4, 2e-5), judged(0.5, 0.0))
        archive.save_kernel(Kernel(kernels[0].run, 0, "9.0", "cuda", "// due", ""))
    (one,) = parsed(tmp_path)
    assert (one["candidates"], one["verified"], one["verified_rate"]) == (4, 4, 1.0)
    assert (one["precise"]["kernel"], one["precise"]["elementwise_error"]) == (kernels[2].id, 2e-5)
    assert "0.4 ms, " in said(tmp_path)


def test_an_exact_kernel_is_precise(tmp_path: Path) -> None:
    with Archive(tmp_path / "archive.db") as archive:
        (only,) = searched(archive, judged(0.5, 0.0))
    assert parsed(tmp_path)[0]["precise"]["kernel"] == only.id
    assert "the winner" in said(tmp_path)


def test_each_problem_counts_once_a_device_by_its_newest_run_with_a_winner(tmp_path: Path) -> None:
    with Archive(tmp_path / "archive.db") as archive:
        searched(archive, judged(0.2))
        newer = searched(archive, judged(0.4), models="file/newer")
        searched(
            archive, replace(EVALUATION, status=Status.WRONG, error="all of it", measurement=None), models="file/none"
        )
        elsewhere = searched(archive, judged(7.0, device=CPU), device=CPU)
    found = parsed(tmp_path)
    assert {one["kernel"] for one in found} == {newer[0].id, elsewhere[0].id}
    named = parsed(tmp_path, newer[0].run)
    assert [one["kernel"] for one in named] == [newer[0].id]
    assert said(tmp_path, "--markdown").count("**AMD EPYC, 2 cores**") == 1


def test_published_kernels_are_those_of_the_problems_that_ship() -> None:
    problem, device = load("softmax"), replace(H100, name="NVIDIA H100 80GB HBM3")
    found = published(problem, device)
    assert found is not None
    assert found.milliseconds == 1.6
    assert published(problem, CPU) is None
    assert published(replace(problem, source=problem.source + "\n"), device) is None
    assert published(replace(problem, name="no_such_problem"), device) is None


def test_names_are_harmless_in_every_form(tmp_path: Path) -> None:
    with Archive(tmp_path / "archive.db") as archive:
        device = replace(H100, name=HOSTILE)
        searched(archive, judged(0.2, device=device), problem=replace(NORM, name=HOSTILE), device=device)
    assert all(harmless(said(tmp_path, *form)) for form in ((), ("--markdown",), ("--json",)))
    assert "<b>" not in said(tmp_path, "--markdown")


def test_a_search_without_a_winner_is_a_sentence(tmp_path: Path) -> None:
    Archive(tmp_path / "archive.db").close()
    done = scripted.typed("results", "--archive", "archive.db", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "No run has a verified kernel yet" in done.stderr
