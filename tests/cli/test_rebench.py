"""`rebench`: what it measures, stores and says, and what it refuses."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.steps import away, scripted
from tests.view.test_hardware import EVALUATION, H100
from treesearch import problem, resources
from treesearch.archive import Archive
from treesearch.errors import MachineError
from treesearch.evaluation import clock, device
from treesearch.evaluation.evaluator import Evaluator
from treesearch.evaluation.target import Here
from treesearch.records import Config, Device, Kernel, Outcome, Problem, Purpose, Status
from treesearch.steps import rebench

pytestmark = pytest.mark.compiler

QUICK = scripted.source(mark="quick")
SLOW = QUICK.replace("    return 0;", "    for (volatile int n = 0; n < 300000; ++n) {}\n    return 0;")
WORKING = ".treesearch/archive.db"


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    away.believe(monkeypatch)
    with scripted.settings():
        yield


@dataclass(frozen=True)
class Held:
    """An archive with a run, and its kernels' ids."""

    folder: Path
    run: str
    kernels: list[str]

    @property
    def archive(self) -> Path:
        return self.folder / WORKING


def hold(folder: Path, *sources: str | None, on: Device | None = None, language: str = "cpp") -> Held:
    """A run of these sources in the working archive of a folder; verdicts are made up."""
    subject: Problem = problem.load(str(scripted.write_problem(folder)))
    hardware = on or device.cpu()
    with Archive(folder / WORKING) as archive:
        run = archive.open_run(subject, Config(("file/x",), language, deadline_seconds=20.0), hardware)
        kernels = [Kernel(run.id, 0, f"0.{place}", language, source, "") for place, source in enumerate(sources)]
        for kernel in kernels:
            archive.save_kernel(kernel)
            archive.save_evaluation(kernel.id, replace(EVALUATION, device=hardware.id))
    return Held(folder, run.id, [kernel.id for kernel in kernels])


def rebenched(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return scripted.typed("rebench", *words, cwd=folder)


def found(folder: Path, *words: str, code: int = 0) -> Any:
    done = rebenched(folder, *words, "--json")
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def refusal(folder: Path, *words: str) -> str:
    done = rebenched(folder, *words)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


# ── what it says ────────────────────────────────────────────────────────────────────────────────


def test_two_kernels_are_measured_again_compared_and_stored(tmp_path: Path) -> None:
    held = hold(tmp_path, QUICK, SLOW)
    said = found(tmp_path, held.kernels[0][:8], held.kernels[1])
    assert [one["kernel"] for one in said["kernels"]] == held.kernels
    for one in said["kernels"]:
        assert (one["problem"], one["language"], one["same_device"]) == ("scaled_relu", "cpp", True)
        assert one["then"]["milliseconds"] != one["now"]["milliseconds"]
        assert one["now"]["status"] == "verified"
    [compared] = said["comparisons"]
    assert (compared["first"], compared["second"], compared["outcome"]) == (*held.kernels, "faster")
    assert 1 < compared["ratio_interval"][0] <= compared["ratio"] <= compared["ratio_interval"][1]
    with Archive(held.archive, read_only=True) as archive:
        stored = archive.remeasurements(held.kernels)
        [comparison] = archive.comparisons(held.kernels[1])
        verdicts = [archive.evaluations(kernel) for kernel in held.kernels]
    assert [(one.kernel, one.purpose) for one in stored] == [(kernel, Purpose.REBENCH) for kernel in held.kernels]
    assert [one.evaluation.milliseconds for one in stored] == [one["now"]["milliseconds"] for one in said["kernels"]]
    assert len({one.evaluation.seed for one in stored}) == 1
    assert (comparison.outcome, comparison.ratio.value) == (Outcome.FASTER, compared["ratio"])
    assert all(len(given) == 1 for given in verdicts), "a verdict stays what it was"


def test_the_table_tells_then_from_now_and_who_is_faster(tmp_path: Path) -> None:
    held = hold(tmp_path, SLOW, QUICK)
    first, second = held.kernels
    done = rebenched(tmp_path, first, second, second)
    assert done.returncode == 0, done.stderr
    head, slow, quick, _, compared = done.stdout.splitlines()
    assert head.split()[:4] == ["kernel", "status", "then", "now"]
    assert slow.startswith(f"{first}  verified")
    assert quick.startswith(f"{second}  verified"), "a kernel that is named twice is measured once"
    assert compared.startswith(f"{second} beside {first}: {second} is faster, ")
    assert "launches of each in turn)" in compared
    assert f"measuring {second} again …" in done.stderr


def test_one_that_is_wrong_now_is_said_so_and_compared_with_nothing(tmp_path: Path) -> None:
    held = hold(tmp_path, QUICK, scripted.source(scripted.WRONG))
    said = found(tmp_path, *held.kernels, code=1)
    assert [one["now"]["status"] for one in said["kernels"]] == ["verified", "wrong"]
    assert said["comparisons"] == []
    [left] = said["not_compared"]
    assert (left["first"], left["second"]) == tuple(held.kernels)
    assert left["reason"] == f"{held.kernels[1]} is wrong, and only verified kernels compare"
    with Archive(held.archive, read_only=True) as archive:
        assert len(archive.remeasurements(held.kernels)) == 2
        assert archive.entries(held.run)[1].verified, "a verdict stays what it was"


def test_one_whose_time_is_that_of_launches_in_a_row_is_compared_with_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = hold(tmp_path, QUICK, SLOW)
    monkeypatch.setattr(clock, "slowed", lambda inside, bursts: replace(inside, samples=(*inside.samples[1:], 9.0)))
    said = found(tmp_path, *held.kernels)
    assert {tuple(one["now"]["labels"]) for one in said["kernels"]} == {("back-to-back",)}
    assert said["comparisons"] == []
    assert "is that of launches in a row" in said["not_compared"][0]["reason"]


def test_a_kernel_of_another_device_is_measured_here_and_says_so(tmp_path: Path) -> None:
    other = away.target(name="Another CPU")
    held = hold(tmp_path, QUICK, on=other)
    done = rebenched(tmp_path, held.kernels[0])
    assert done.returncode == 0, done.stderr
    assert f"* then on Another CPU, now on {device.cpu().name}" in done.stdout
    [one] = found(tmp_path, held.kernels[0])["kernels"]
    assert (one["same_device"], one["device"]["id"], one["then_device"]["id"]) == (False, device.cpu().id, other.id)
    with Archive(held.archive, read_only=True) as archive:
        assert {one.evaluation.device for one in archive.remeasurements(held.kernels)} == {device.cpu().id}


# ── what is only read, and what is not there ────────────────────────────────────────────────────


def test_the_run_of_a_recorded_kernel_is_copied_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = hold(tmp_path, QUICK)
    record = tmp_path / "record.db"
    with Archive(record) as shipped:
        with Archive(held.archive, read_only=True) as source:
            shipped.merge(source, held.run)
        shipped.seal()
    monkeypatch.setattr(resources, "record", lambda: record)
    before = record.read_bytes()
    for number, options in enumerate(((), ("--archive", str(record)))):
        folder = tmp_path / str(number)
        folder.mkdir()
        done = rebenched(folder, held.kernels[0], *options)
        assert done.returncode == 0, done.stderr
        assert f"Run {held.run} is in the shipped record, and was copied into {WORKING}." in done.stderr
        with Archive(folder / WORKING, read_only=True) as archive:
            assert len(archive.remeasurements(held.kernels)) == 1
        assert "copied" not in rebenched(folder, held.kernels[0]).stderr
    assert record.read_bytes() == before


class TestRefusals:
    def test_ids_that_name_no_kernel(self, tmp_path: Path) -> None:
        held = hold(tmp_path, QUICK, None)
        assert "No run or kernel has an id that starts with 'zz'" in refusal(tmp_path, held.kernels[0], "zz")
        assert f"{held.run} is a run; name one of its kernels" in refusal(tmp_path, held.run)
        assert "Missing argument 'KERNEL" in refusal(tmp_path)
        assert f"Kernel {held.kernels[1]} has no source" in refusal(tmp_path, *held.kernels)
        with Archive(held.archive, read_only=True) as archive:
            assert archive.remeasurements(held.kernels) == (), "nothing is measured where one cannot be"

    def test_a_language_that_no_device_here_runs(self, tmp_path: Path) -> None:
        held = hold(tmp_path, QUICK, "__global__ void f();", on=H100, language="cuda")
        with Archive(held.archive) as archive, pytest.raises(MachineError) as refused:
            list(rebench.rebench(archive, held.kernels, here=Here((device.cpu(),))))
        said = f"Kernel {held.kernels[0]} is in cuda and was judged on {H100.name}; no device of this machine runs it"
        assert str(refused.value).startswith(said)


def test_what_was_measured_before_an_interruption_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = hold(tmp_path, QUICK, SLOW)
    judge = Evaluator.judge

    def interrupted(self: Evaluator, built: Any, **settings: Any) -> Any:
        if self._times:
            raise KeyboardInterrupt
        return judge(self, built, **settings)

    monkeypatch.setattr(Evaluator, "judge", interrupted)
    done = rebenched(tmp_path, *held.kernels)
    assert done.returncode == 130
    assert "nothing that was stored is lost" in done.stderr
    with Archive(held.archive, read_only=True) as archive:
        [kept] = archive.remeasurements(held.kernels)
    assert (kept.kernel, kept.evaluation.status) == (held.kernels[0], Status.VERIFIED)
