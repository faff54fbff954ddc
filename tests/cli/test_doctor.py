"""What `treesearch doctor` and `treesearch device` say of a device's noise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from treesearch.cli import doctor
from treesearch.cli.doctor import noise_finding
from treesearch.evaluation import device
from treesearch.records import Device
from treesearch.view import hardware

GPU = Device("cuda", "NVIDIA H100 80GB HBM3", 132, 80 << 30)


def test_noise_that_was_never_measured_is_no_failure() -> None:
    assert noise_finding(GPU) == (
        "noise of cuda",
        None,
        "never measured; `treesearch doctor --measure` does, in half a minute",
    )
    assert "noise" not in hardware.figures(GPU)


def test_measured_noise_is_stated_in_percent() -> None:
    what, state, said = noise_finding(replace(GPU, noise=0.0123))
    assert (what, state) == ("noise of cuda", True)
    assert said == "two measurements of one kernel differ by less than 1.2 %, 95 times in 100"
    assert hardware.figures(replace(GPU, noise=0.0123)) == "noise 1.2 %"


def test_doctor_looks_up_what_was_measured_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREESEARCH_CACHE", str(tmp_path))
    assert [state for _, state, _ in doctor._noise(gpu=False, measure=False)] == [None]
    device.keep_noise(replace(device.cpu(), noise=0.02))
    assert list(doctor._noise(gpu=False, measure=False)) == [noise_finding(replace(device.cpu(), noise=0.02))]


def test_what_keeps_the_noise_from_being_measured_is_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TREESEARCH_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))  # without a compiler
    ((what, state, said),) = doctor._noise(gpu=False, measure=True)
    assert (what, state) == ("noise of cpu", False)
    assert "There is no compiler for C++17" in said
