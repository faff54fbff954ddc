"""`treesearch export`: what it writes and says, what it judges again, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.export.made import H100, IDEA, evaluation
from tests.steps import scripted
from treesearch import problem
from treesearch.archive import Archive, Finding, Kind
from treesearch.cli.export import DATASET, FORMATS
from treesearch.evaluation import device
from treesearch.export import exported, formats
from treesearch.records import (
    Answer,
    Config,
    Device,
    Edge,
    Evaluation,
    Kernel,
    Proposal,
    Protocol,
    Purpose,
    Relation,
    Remeasurement,
    Request,
    Stage,
    Status,
)

ELSEWHERE = replace(H100, name="NVIDIA M2090", architecture="sm_20")
"""A device that no machine has on which this runs."""
WORKING = ".treesearch/archive.db"


@dataclass(frozen=True)
class Held:
    """A working archive with a run of two kernels, the second made from the first."""

    folder: Path
    run: str
    first: str
    second: str

    @property
    def archive(self) -> Path:
        return self.folder / WORKING


def hold(folder: Path, source: str = "", on: Device | None = None, judged: Evaluation | None = None) -> Held:
    """Verdicts are made up."""
    subject = problem.load(str(scripted.write_problem(folder)))
    hardware = on or device.cpu()
    verdict = judged or evaluation(hardware)
    with Archive(folder / WORKING) as archive:
        language = "cuda" if hardware.kind == "cuda" else "cpp"
        run = archive.open_run(subject, Config(("file/x",), language, deadline_seconds=20.0), hardware)
        request = Request(run.id, 1, Stage.IDEAS, subject.digest, "", "1", "What would you try?")
        archive.save_answer(request, Answer("Fuse.", "openai/o3", answered_by="o3-2025"))
        first = Kernel(run.id, 0, "0.0", language, scripted.source(mark="first"), "")
        proposal = Proposal(run.id, 1, 0, first.id, request.id, IDEA)
        second = Kernel(run.id, 1, "0.0", language, source or scripted.source(mark="second"), request.id, proposal)
        archive.save_kernel(first)
        archive.save_proposals([proposal])
        archive.save_kernel(second, [Edge(first.id, second.id, Relation.REFINES)])
        archive.save_evaluation(first.id, replace(evaluation(hardware), device=hardware.id))
        archive.save_evaluation(second.id, replace(verdict, device=hardware.id))
    return Held(folder, run.id, first.id, second.id)


def export(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return scripted.typed("export", *words, cwd=folder)


def refusal(folder: Path, *words: str) -> str:
    done = export(folder, *words, "-o", "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert not (folder / "out").exists()
    return done.stderr


# ── what it writes ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.compiler
def test_a_kernel_is_judged_again_and_written(tmp_path: Path) -> None:
    held = hold(tmp_path)
    done = export(tmp_path, held.second[:8], "-o", "out", "--json")
    verdict = "suspect" if "suspect" in done.stderr else "verified"
    assert verdict == "verified"
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert {"folder": "out", **json.loads((tmp_path / "out" / "manifest.json").read_text())} == said
    assert (said["subject"], said["kernel"]["run"], said["verified_now"]) == (held.second, held.run, True)
    assert said["verification"]["milliseconds"] != said["timing"]["milliseconds"], "it was measured here and now"
    assert said["verification"]["accuracy"]["checked_calls"] > 0
    assert [step["kernel"] for step in said["ancestors"]] == [held.first, held.second]
    assert said["ancestors"][1]["idea"]["proposed_by"]["answered_by"] == "o3-2025"
    assert set(said["files"]) == {"scaled_relu_kernel.py", "test_scaled_relu_kernel.py"}


@pytest.mark.compiler
def test_a_kernel_that_is_wrong_now_is_refused(tmp_path: Path) -> None:
    held = hold(tmp_path, scripted.source(scripted.WRONG))
    said = refusal(tmp_path, held.second)
    assert f"Kernel {held.second} is wrong when it is judged again here, so it is not exported: " in said


def test_a_run_exports_its_winner_and_says_that_no_device_is_here(tmp_path: Path) -> None:
    held = hold(tmp_path, on=ELSEWHERE)
    done = export(tmp_path, held.run, "--format", "kernelbench", "-o", "out")
    assert done.returncode == 0, done.stderr
    wrote, use, test = done.stdout.splitlines()
    assert wrote == f"Wrote out: kernelbench of kernel {held.first}, scaled_relu (not verified now)"
    assert "eval_kernel_against_ref(reference, model_new, precision=torch.float32)" in use
    assert test.strip() == "pytest out/test_model_new.py"
    assert "NOT VERIFIED NOW: this machine" in done.stderr
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["verified_now"] is False
    assert manifest["verification"]["not_done"].startswith("this machine")


def test_the_final_figure_is_the_one_to_publish(tmp_path: Path) -> None:
    held = hold(tmp_path, on=ELSEWHERE)
    with Archive(held.archive) as archive:
        final = replace(evaluation(ELSEWHERE, error=3e-5), device=ELSEWHERE.id)
        archive.save_remeasurement(Remeasurement(held.second, Purpose.FINAL, final))
    with Archive(held.archive, read_only=True) as archive:
        found = exported.gather(archive, archive.run(held.run), held.second)
    assert found.is_final
    assert found.evaluation.accuracy is not None
    assert found.evaluation.accuracy.worst_error == 3e-5


def test_an_export_of_the_same_is_renewed_and_nothing_else_overwritten(tmp_path: Path) -> None:
    held = hold(tmp_path, on=ELSEWHERE)
    assert export(tmp_path, held.second, "-o", "out").returncode == 0
    assert export(tmp_path, held.second, "-o", "out").returncode == 0
    done = export(tmp_path, held.first, "-o", "out")
    assert (done.returncode, "out holds another export; name a new folder with -o." in done.stderr) == (2, True)


# ── what it refuses ─────────────────────────────────────────────────────────────────────────────


def test_what_failed_is_refused_with_the_reason(tmp_path: Path) -> None:
    wrong = Evaluation(Status.WRONG, "", Protocol(0.01), error="output out differs in row 3")
    held = hold(tmp_path, judged=wrong)
    assert f"Kernel {held.second} is wrong, so it is not exported: output out differs in row 3" in refusal(
        tmp_path, held.second
    )


def test_what_a_person_suspects_is_refused_and_so_is_what_came_of_it(tmp_path: Path) -> None:
    held = hold(tmp_path)
    with Archive(held.archive) as archive:
        archive.save_finding(Finding(held.first, Kind.SUSPECT, "reads the clock \x1b[31m"))
    said = refusal(tmp_path, held.first)
    assert f"Kernel {held.first} is suspect, so it is not exported: found suspect by a person: reads the clock" in said
    assert "\x1b" not in said
    assert f"Kernel {held.second} is re-opened, so it is not exported" in refusal(tmp_path, held.second)
    assert f"Run {held.run} has no verified kernel, so there is no winner" in refusal(tmp_path, held.run)


def test_an_unknown_kernel_and_format_are_refused(tmp_path: Path) -> None:
    hold(tmp_path)
    assert "No run or kernel has an id that starts with 'zzz'" in refusal(tmp_path, "zzz")
    assert "'wheel' is not one of" in refusal(tmp_path, "zzz", "--format", "wheel")


def test_the_flag_names_every_format_that_there_is() -> None:
    assert set(FORMATS) == {*formats.FORMATS, DATASET}


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    script = "import sys, treesearch.cli.export; print(*sorted({'torch', 'jinja2', 'sqlalchemy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
