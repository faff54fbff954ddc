"""What was measured after the selection, as it is shown: on the screen, in Markdown, in JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.steps import scripted
from tests.view.test_hardware import EVALUATION, H100, NORM
from tests.view.test_views import HOSTILE, harmless, printed
from treesearch.archive import Archive
from treesearch.records import (
    Config,
    Configuration,
    Evaluation,
    Kernel,
    Purpose,
    Ratio,
    Remeasurement,
    Status,
    Timing,
)
from treesearch.view import final
from treesearch.view.data import final_of

TF32 = Configuration("TF32", Timing((0.3, 0.32)), Ratio(1.22, 1.2, 1.25))
LAYOUT = Configuration("channels_last", Timing((0.7,)), Ratio(2.8, 2.7, 2.9))
WRONG = Configuration("max-autotune", error="37 of 4096 rows beyond the tolerance")


def measured_again(*tried: Configuration, created: str = "2026-11-21T01:02:03+00:00") -> Evaluation:
    assert EVALUATION.measurement is not None
    measurement = replace(EVALUATION.measurement, configurations=tried)
    return replace(EVALUATION, device=H100.id, measurement=measurement, created=created)


FAILED = Evaluation(Status.WRONG, H100.id, EVALUATION.protocol, "all of it", created="2026-11-21T01:02:03+00:00")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An archive with a winner that was measured again."""
    with Archive(tmp_path / "archive.db") as archive:
        run = archive.open_run(NORM, Config(("file/x",), "cuda"), H100)
        kernel = Kernel(run.id, 0, "0.0", "cuda", "// x", "")
        archive.save_kernel(kernel)
        archive.save_evaluation(kernel.id, replace(EVALUATION, device=H100.id, created="2026-11-20T00:00:00+00:00"))
        again = measured_again(TF32, LAYOUT, WRONG)
        archive.save_remeasurement(Remeasurement(kernel.id, Purpose.FINAL, again))
    return tmp_path


def said(folder: Path, *words: str) -> str:
    done = scripted.typed(*words, "--archive", "archive.db", cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def kernel_of(folder: Path) -> str:
    return str(json.loads(said(folder, "show", "--json"))["winner"]["kernel"])


def test_the_winners_screen_states_the_final_figure_before_that_of_its_verdict(folder: Path) -> None:
    for words in (("show",), ("show", kernel_of(folder)), ("trajectory",)):
        lines = said(folder, *words).splitlines()
        place = next(number for number, line in enumerate(lines) if line.startswith("final  0."))
        assert "· eager " in lines[place]
        assert "· torch.compile" in lines[place]
        assert lines[place + 1 : place + 6] == [
            "the fastest torch that passes is TF32, 0.31 ms: 1.22× (1.20–1.25)",
            "  TF32, 0.31 ms: 1.22× (1.20–1.25)",
            "  channels_last, 0.7 ms: 2.80× (2.70–2.90)",
            "  max-autotune does not count: 37 of 4096 rows beyond the tolerance",
            "measured after the selection, on fresh inputs in fresh processes · 2026-11-21",
        ]
        assert lines[place + 6].startswith("when it was judged: 0.")


def test_json_has_the_final_with_every_configuration(folder: Path) -> None:
    run: Any = json.loads(said(folder, "show", "--json"))
    assert (run["final"]["fastest_torch"], run["final"]["fastest_torch_speedup"]) == ("TF32", 1.22)
    assert run["final"]["created"] == "2026-11-21T01:02:03+00:00"
    assert run["final"]["configurations"] == [
        {"name": "TF32", "milliseconds": 0.31, "speedup": 1.22, "speedup_interval": [1.2, 1.25], "error": None},
        {"name": "channels_last", "milliseconds": 0.7, "speedup": 2.8, "speedup_interval": [2.7, 2.9], "error": None},
        {
            "name": "max-autotune",
            "milliseconds": None,
            "speedup": None,
            "speedup_interval": None,
            "error": WRONG.error,
        },
    ]
    kernel: Any = json.loads(said(folder, "show", run["winner"]["kernel"], "--json"))
    assert [one["purpose"] for one in kernel["remeasurements"]] == ["final"]
    assert kernel["verdicts"][0]["configurations"] == []


def test_markdown_says_what_was_measured_afterwards(folder: Path) -> None:
    written = said(folder, "trajectory", "--markdown")
    assert "Measured again after the selection: 0.2" in written
    assert "against the fastest torch that passes (TF32, 0.31 ms) 1.22× (1.20–1.25)." in written


def test_a_kernel_that_fails_afterwards_is_shown_without_any_figure() -> None:
    lines = printed(*final.lines(FAILED)).splitlines()
    assert lines[0] == "final  wrong: all of it"
    assert "ms" not in lines[0]


def test_a_time_with_a_warm_cache_stands_beside_the_cold_one() -> None:
    measured = measured_again().measurement
    assert measured is not None
    assert "warm" not in final.figures(measured).plain
    assert " samples) · 0.04 ms with a warm cache · eager " in final.figures(replace(measured, warm=0.04)).plain


def test_what_torch_says_of_itself_steers_no_terminal() -> None:
    hostile = (Configuration(HOSTILE, error=HOSTILE), replace(TF32, name=HOSTILE))
    assert harmless(printed(*final.lines(measured_again(*hostile)), *final.lines(replace(FAILED, error=HOSTILE))))


def test_the_newest_final_on_the_device_is_the_one_that_counts() -> None:
    first, second = measured_again(TF32), measured_again(LAYOUT)
    elsewhere = replace(second, device="elsewhere")
    stored = [
        Remeasurement("k", Purpose.FINAL, first),
        Remeasurement("k", Purpose.FINAL, second),
        Remeasurement("k", Purpose.FINAL, elsewhere),
        Remeasurement("k", Purpose.REBENCH, first),
        Remeasurement("other", Purpose.FINAL, first),
    ]
    assert final_of(stored, "k", H100.id) == second
    assert final_of(stored[3:], "k", H100.id) is None


def test_the_fastest_torch_is_eager_or_compile_where_no_setting_beats_them() -> None:
    slow = replace(TF32, timing=Timing((1e3,)))
    for tried in ((), (slow, WRONG)):
        measured = measured_again(*tried).measurement
        assert measured is not None
        assert measured.fastest_torch.speedup == measured.speedup
        assert measured.fastest_torch.name in ("eager", "torch.compile")
