"""The audit: hostile kernels are caught, honest ones accepted, and no check can be left out without being missed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import treesearch
from tests.steps import scripted
from tests.test_work import BLOCKED
from treesearch.audit import corpus, machine, planting, report
from treesearch.audit.corpus import Case
from treesearch.audit.judging import Moment, audit
from treesearch.audit.report import Report
from treesearch.errors import UsageError
from treesearch.evaluation.build import Built
from treesearch.evaluation.checks import Check
from treesearch.evaluation.evaluator import Evaluator
from treesearch.evaluation.trial import Attempted
from treesearch.records import Label, Status

PACKAGE = Path(treesearch.__file__).parent
LEAST_HOSTILE, LEAST_HONEST = 3, 1
LEAST_HOSTILE_IN_ALL, LEAST_HONEST_IN_ALL = 60, 40
TRIES = 3
"""How often a kernel may try to get through where the check that holds it is left out."""

PROBLEM = """
import torch
from torch import nn

class Model(nn.Module):
    @torch.compiler.disable
    def forward(self, x):
        return x * x + 1

def get_inputs():
    return [torch.randn(64, 64)]

def get_init_inputs():
    return []
"""
BODY = """
#include "problem.h"
extern "C" int launch(const float* x, float* out, void*) {
    for (int64_t i = 0; i < x_numel COUNT; ++i) out[i] = x[i] * x[i] + 1;
    return 0;
}
"""
HOSTILE = "// hostile: computes one half\n// problem: tiny\n// verdict: wrong\n"
HONEST = "// honest: nothing strange\n// problem: tiny\n"
WHOLE, HALF = BODY.replace(" COUNT", ""), BODY.replace("COUNT", "/ 2")


@pytest.fixture(scope="module", autouse=True)
def _settings() -> Iterator[None]:
    with scripted.settings():
        yield


@pytest.fixture(scope="module")
def cases() -> tuple[Case, ...]:
    return corpus.read(corpus.folder())


@pytest.fixture(scope="module")
def full(cases: tuple[Case, ...]) -> Report:
    """Everything in C++, once."""
    return audit([case for case in cases if case.language == "cpp"])


def written(folder: Path, **sources: str) -> tuple[Case, ...]:
    """A corpus of kernels for one tiny problem, all in the family `partial-work`."""
    (folder / "problems").mkdir(exist_ok=True)
    (folder / "problems" / "tiny.py").write_text(PROBLEM)
    home = folder / "partial-work"
    home.mkdir(exist_ok=True)
    for name, text in sources.items():
        (home / f"{name}.cpp").write_text(text)
    return corpus.read(folder)


def command(*words: str) -> list[str]:
    return [sys.executable, "-c", "from treesearch.cli import main; main()", "audit", *words]


def started(words: Sequence[str], package: Path = PACKAGE) -> subprocess.Popen[str]:
    environment = scripted.environment(PYTHONPATH=str(package.parent))
    pipe = subprocess.PIPE
    return subprocess.Popen(words, env=environment, cwd="/", stdout=pipe, stderr=pipe, text=True)


def finished(words: Sequence[str], package: Path = PACKAGE) -> tuple[int, str, str]:
    with started(words, package) as process:
        out, err = process.communicate()
    return process.returncode, out, err


# ── reading the corpus ──────────────────────────────────────────────────────────────────────────


def test_a_header_is_read(tmp_path: Path) -> None:
    head = HOSTILE.replace("wrong", "wrong | suspect") + "// label: algorithmic, varying\n// check: rows, poison\n"
    (case,) = written(tmp_path, half=f"{head}// says: a row | a column\n\n// says: no key any more\n{HALF}")
    assert (case.family, case.name, case.language) == ("partial-work", "partial-work/half.cpp", "cpp")
    assert case.hostile
    assert case.about == "computes one half"
    assert case.verdicts == {Status.WRONG, Status.SUSPECT}
    assert case.labels == {Label.ALGORITHMIC, Label.VARYING}
    assert case.checks == {Check.ROWS, Check.POISON}
    assert case.says == ("a row", "a column")
    assert case.source.endswith(HALF)


def test_an_honest_kernel_must_be_verified(tmp_path: Path) -> None:
    (case,) = written(tmp_path, whole=HONEST + WHOLE)
    assert not case.hostile
    assert case.verdicts == {Status.VERIFIED}


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (HOSTILE + "// excuse: none\n", ":4: 'excuse' is no key"),
        (HOSTILE + "// a word about it\n", ":4: 'a word about it' is no key"),
        (HOSTILE + "// check: poisson\n", ":4: 'poisson' is no check"),
        (HOSTILE + "// check: rows, \n", ":4: '' is no check"),
        (HOSTILE + "// label: sealed\n", ":4: 'sealed' is no label"),
        (HOSTILE + "// device: tpu\n", ":4: the only device"),
        (HOSTILE + "// verdict: crashed\n", ":4: verdict needs one value and has two"),
        (HOSTILE + "// says: a row |\n", ":4: says has an empty alternative"),
        (HOSTILE + "// says:\n", ":4: says needs one value and has none"),
        (HOSTILE.replace("wrong", "bad"), ":3: 'bad' is no verdict"),
        (HOSTILE.replace("wrong", "verified"), ":3: a hostile kernel that is verified has got through"),
        (HOSTILE.replace("tiny", "huge"), ":2: there is no problem 'huge'"),
        (HOSTILE.replace("tiny", "../problems/tiny"), ":2: there is no problem '../problems/tiny'"),
        (HOSTILE.replace("// problem: tiny\n", ""), ":1: the header names no problem"),
        (HOSTILE.replace("// verdict: wrong\n", ""), ":1: the header of a hostile kernel needs a verdict"),
        (HONEST + "// verdict: wrong\n", ":3: an honest kernel is verified"),
        (HONEST + HOSTILE.replace("// problem: tiny\n", ""), ":1: a header says either"),
        ("", ":1: a header says either"),
    ],
)
def test_a_malformed_header_is_an_error_with_its_line(tmp_path: Path, head: str, told: str) -> None:
    with pytest.raises(UsageError) as error:
        written(tmp_path, odd=head + WHOLE)
    assert f"odd.cpp{told}" in str(error.value)


def test_an_unknown_folder_and_an_unknown_suffix_are_errors(tmp_path: Path) -> None:
    written(tmp_path, whole=HONEST + WHOLE)
    (tmp_path / "partial-work" / "notes.txt").write_text("")
    with pytest.raises(UsageError, match=r"notes\.txt: kernels end in"):
        corpus.read(tmp_path)
    (tmp_path / "magic").mkdir()
    with pytest.raises(UsageError, match="magic is no family"):
        corpus.read(tmp_path)


@pytest.mark.parametrize("name", ["half", "half.cpp", "partial-work/half", "partial-work/half.cpp"])
def test_a_kernel_is_chosen_by_its_name(tmp_path: Path, name: str) -> None:
    found = written(tmp_path, half=HOSTILE + HALF, whole=HONEST + WHOLE)
    assert [case.path.stem for case in corpus.choose(found, names=[name])] == ["half"]
    assert corpus.choose(found, ["timer-games"], [name]) == ()


# ── what becomes of it ──────────────────────────────────────────────────────────────────────────


@pytest.mark.compiler
def test_misses_are_told_with_what_was_expected_and_what_came(tmp_path: Path) -> None:
    found = written(
        tmp_path,
        caught=HOSTILE + HALF,
        got_through=HOSTILE + WHOLE,
        other_words=f"{HOSTILE}// says: three quarters | a third\n{HALF}",
        accepted=HONEST + WHOLE,
        convicted=HONEST + HALF,
        unlabelled=f"{HONEST}// label: open\n{WHOLE}",
    )
    moments: list[Moment] = []
    told = audit(found, observe=moments.append)
    outcomes = {result.case.path.stem: result.outcome for result in told.results}
    missed = dict.fromkeys(["got_through", "other_words", "convicted", "unlabelled"], "missed")
    assert outcomes == {"caught": "caught", "accepted": "accepted", **missed}
    assert told.exit_code == 1
    assert report.row(told.total())[1:] == ("1/3", "1/3", "")
    lines = report.plain(told).splitlines()
    assert "  got      verified" in lines
    assert "  expected wrong saying 'three quarters' or 'a third'" in lines
    assert "  the verdict lacks the label open" in lines
    assert lines[-1].startswith("1 of 3 hostile kernels caught, 1 of 3 honest ones accepted, 0 not run, in ")
    done = [moment.done for moment in moments if moment.result]
    assert done == [1, 2, 3, 4, 5, 6]
    assert json.loads(json.dumps(report.data(told)))["total"]["caught"] == 1


@pytest.mark.compiler
def test_an_honest_kernel_that_is_suspect_has_one_more_verdict_and_the_report_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = written(tmp_path, caught=HOSTILE.replace("wrong", "suspect") + WHOLE, accepted=HONEST + WHOLE)
    attempt, doubted = Evaluator.attempt, Counter[str]()

    def doubting(self: Evaluator, built: Built, **about: Any) -> Attempted:
        """What comes of the first attempt at each build is suspect."""
        attempted = attempt(self, built, **about)
        assert attempted.outcome is not None
        doubted[str(built.library)] += 1
        if doubted[str(built.library)] > 1:
            return attempted
        return replace(attempted, status=Status.SUSPECT, outcome=replace(attempted.outcome, doubt="doubted"))

    monkeypatch.setattr(Evaluator, "attempt", doubting)
    told = audit(found)
    assert {result.case.path.stem: (result.outcome, result.again) for result in told.results} == {
        "caught": ("caught", False),
        "accepted": ("accepted", True),
    }
    assert "judged once more: partial-work/accepted.cpp" in report.plain(told)


def test_what_a_machine_lacks_is_neither_miss_nor_catch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = written(tmp_path, half=HOSTILE + HALF)
    monkeypatch.setenv("PATH", "/nowhere")
    told = audit(found)
    assert [result.outcome for result in told.results] == ["not run"]
    assert told.exit_code == 0
    assert report.row(told.total()) == ("total", "0/0", "0/0", "1")
    assert "1 not run for want of a compiler for C++17 with OpenMP" in report.plain(told)


@pytest.mark.compiler
def test_a_wall_that_this_machine_lacks_is_not_attacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = written(tmp_path, half=f"{HOSTILE}// check: network\n{HALF}")
    monkeypatch.setenv("TREESEARCH_SANDBOX", "limits")
    told = audit(found)
    assert [result.absent for result in told.results] == ["a sandbox that holds network"]
    assert "sandbox: limits" in report.plain(told).splitlines()


@pytest.mark.compiler
def test_a_problem_that_fails_costs_its_own_kernels_only(tmp_path: Path) -> None:
    written(tmp_path, half=HOSTILE + HALF)
    (tmp_path / "problems" / "broken.py").write_text("raise RuntimeError('gone')")
    found = written(tmp_path, other=(HOSTILE + HALF).replace("tiny", "broken"))
    told = audit(found)
    assert {result.case.path.stem: result.outcome for result in told.results} == {"half": "caught", "other": "missed"}
    assert "ProblemError" in report.plain(told)


# ── going on ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.compiler
def test_an_audit_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    found, kept = written(tmp_path, one=HOSTILE + HALF, other=HONEST + HALF), tmp_path / "verdicts.jsonl"

    def stop(moment: Moment) -> None:
        if moment.result:
            raise KeyboardInterrupt

    assert audit(found, observe=stop, output=kept).exit_code == report.INTERRUPTED
    with kept.open("a") as file:
        file.write('{"again": fal')  # and a line that was cut off
    told = audit(found, output=kept)
    assert [result.outcome for result in told.results] == ["caught", "missed"]
    assert [result.before for result in told.results].count(True) == 1
    assert "1 judged before, in " in report.plain(told)
    again = audit(found, output=kept)
    assert all(result.before for result in again.results)
    assert [result.verdict for result in again.results] == [result.verdict for result in told.results]
    assert again.exit_code == 1  # a miss stays one


@pytest.mark.compiler
def test_a_verdict_is_kept_for_the_same_kernel_judged_in_the_same_way(tmp_path: Path) -> None:
    kept = tmp_path / "verdicts.jsonl"
    audit(written(tmp_path, one=HOSTILE + HALF), output=kept)
    changed = written(tmp_path, one=HOSTILE + HALF + "\n")
    assert [result.before for result in audit(changed, output=kept).results] == [False]
    without = audit(changed, output=kept, without=frozenset({Check.SANITIZER}))
    assert [result.before for result in without.results] == [False]
    assert [result.before for result in audit(changed, output=kept).results] == [True]


@pytest.mark.parametrize("text", ["not an audit", "not an audit\n", '{"again": false}\n'])
def test_a_file_of_anything_else_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    kept = tmp_path / "notes.txt"
    kept.write_text(text)
    code, _, err = finished(command("degenerate-problem", "--only", "zeros", "-o", str(kept)))
    assert code == 2
    assert "line 1: it " in err
    assert kept.read_text() == text


# ── what is planted ─────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(planting, "home", lambda: tmp_path)
    return tmp_path / planting.FILE


def test_what_is_planted_is_there_and_goes_away(secret: Path) -> None:
    with planting.planted() as traps:
        assert os.environ[planting.VARIABLE] == secret.read_text() == traps.secret
        with socket.create_connection(("127.0.0.1", planting.PORT), timeout=1):
            pass
        assert traps.victim is not None
        os.kill(traps.victim.pid, 0)
        assert traps.harm() == ""
    assert planting.VARIABLE not in os.environ
    assert not secret.exists()
    assert traps.victim.poll() is not None


def test_harm_to_what_is_planted_is_told_once() -> None:
    with planting.planted() as traps:
        assert traps.victim is not None
        os.kill(traps.victim.pid, signal.SIGKILL)
        traps.victim.wait()
        assert "a process outside its sandbox was ended" in traps.harm()
        assert traps.harm() == ""


def test_what_an_audit_left_that_was_killed_is_taken_over(secret: Path) -> None:
    secret.write_text("0" * 32)
    with planting.planted() as traps:
        assert secret.read_text() == traps.secret
    assert not secret.exists()


def test_what_another_audit_has_planted_stays(secret: Path) -> None:
    with planting.planted() as first:
        with planting.planted() as second:
            assert secret.read_text() == first.secret
            assert second.file is None
        assert secret.read_text() == first.secret


def test_a_file_that_was_there_before_stays(secret: Path) -> None:
    secret.write_text("mine")
    with planting.planted():
        assert secret.read_text() == "mine"
    assert secret.read_text() == "mine"


# ── the commands ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("words", [command(), [sys.executable, "-m", "treesearch.audit"]], ids=["click", "argparse"])
def test_outside_a_checkout_it_says_where_the_corpus_is(tmp_path: Path, words: list[str]) -> None:
    alone = tmp_path / "treesearch"
    shutil.copytree(PACKAGE, alone, ignore=shutil.ignore_patterns("__pycache__"))
    code, out, err = finished(words, alone)
    assert (code, out) == (2, "")
    assert "in the repository, under tests/audit" in err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("no-family",), "no family 'no-family'"),
        (("--only", "no-kernel"), "no kernel 'no-kernel'"),
        (("--only", "patched-clock"), "the closest is timer-games/patched_clock, and the files in "),
        (("--without", "nothing"), "'nothing'"),
    ],
)
@pytest.mark.parametrize("start", [command(), [sys.executable, "-m", "treesearch.audit"]], ids=["click", "argparse"])
def test_wrong_usage_is_2(start: list[str], words: tuple[str, ...], told: str) -> None:
    code, _, err = finished([*start, *words])
    assert code == 2
    assert told in err


@pytest.mark.compiler
def test_it_runs_where_only_torch_and_a_compiler_are_installed() -> None:
    poor = BLOCKED.replace("treesearch.work", "treesearch.audit")
    code, out, err = finished([sys.executable, "-c", poor, "degenerate-problem", "--only", "zeros", "--json"])
    assert code == 0, err
    assert [result["outcome"] for result in json.loads(out)["results"]] == ["caught"]


@pytest.mark.compiler
def test_ctrl_c_ends_with_what_was_found_and_130() -> None:
    with started(command("partial-work")) as process:
        assert process.stderr is not None
        assert process.stderr.readline()  # the first of several verdicts
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "interrupted after" in out


# ── the corpus itself ───────────────────────────────────────────────────────────────────────────


def test_every_family_has_hostile_kernels_and_honest_neighbours(cases: tuple[Case, ...]) -> None:
    counts = {family: [case.hostile for case in cases if case.family == family] for family in corpus.FAMILIES}
    thin = {name: kinds for name, kinds in counts.items() if sum(kinds) < LEAST_HOSTILE}
    lonely = {name: kinds for name, kinds in counts.items() if kinds.count(False) < LEAST_HONEST}
    assert (thin, lonely) == ({}, {})
    assert sum(case.hostile for case in cases) >= LEAST_HOSTILE_IN_ALL
    assert sum(not case.hostile for case in cases) >= LEAST_HONEST_IN_ALL


@pytest.mark.compiler
def test_everything_in_cpp_gets_the_verdict_it_should(full: Report) -> None:
    assert not full.misses, report.plain(full)


@pytest.mark.compiler
@pytest.mark.parametrize("check", list(Check))
def test_without_a_check_something_gets_through(
    cases: tuple[Case, ...], request: pytest.FixtureRequest, check: Check
) -> None:
    if lack := machine.missing(check):
        pytest.skip(f"this machine lacks {lack}")
    named = [case for case in cases if case.hostile and check in case.checks and not machine.absence(case)]
    assert named, f"no kernel names {check}"
    chosen = together(named)
    whole: Report = request.getfixturevalue("full") if chosen[0].language == "cpp" else audit(chosen)
    assert {case.name for case in chosen} <= {result.case.name for result in whole.results if result.passed}
    for _ in range(TRIES):  # some race with the clock, and lose where others have the machine
        told = audit(chosen, without=frozenset({check}))
        if told.misses:
            break
    assert told.misses, report.plain(told, verbose=True)


def together(named: Sequence[Case]) -> list[Case]:
    """Those that share a problem and a language with the first one in C++, and so an evaluator, whose start is slow."""
    first = min(named, key=lambda case: case.language)
    return [case for case in named if (case.problem, case.language) == (first.problem, first.language)]
