"""How far apart two measurements of one kernel are: the figure, where it is kept, and the kernels it is taken with."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from treesearch import languages
from treesearch.evaluation import device, noise, yardstick
from treesearch.evaluation.build import build
from treesearch.records import Conditions, Device, Measurement, Ratio, Timing

GPU = Device("cuda", "NVIDIA H100 80GB HBM3", 132, 80 << 30, architecture="sm_90a", software=("driver 580",))


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TREESEARCH_CACHE", str(tmp_path))
    return tmp_path


def test_equal_times_have_no_noise() -> None:
    assert noise.floor([2.0, 2.0, 2.0]) == 0.0


def test_the_noise_is_what_only_few_pairs_are_further_apart_than() -> None:
    assert noise.floor([1.0, 1.1]) == pytest.approx(0.1, rel=0.1)
    steady = [1.0] * 49
    assert noise.floor([*steady, 2.0]) < 0.01  # one in fifty is in one pair of twenty-five
    assert noise.floor([*steady, *[2.0] * 5]) == pytest.approx(1.0)


def test_the_noise_does_not_depend_on_which_of_two_is_named_first() -> None:
    assert noise.floor([1.0, 1.2, 1.5]) == noise.floor([1.5, 1.2, 1.0])


def test_measured_noise_belongs_to_this_device_from_then_on(own_cache: Path) -> None:
    assert device.local("cpu").noise is None
    device.keep_noise(replace(device.local("cpu"), noise=0.0125))
    assert device.local("cpu").noise == 0.0125


def test_noise_is_forgotten_with_the_software_that_it_was_measured_with(own_cache: Path) -> None:
    device.keep_noise(replace(GPU, noise=0.01))
    assert device._with_noise(GPU).noise == 0.01
    assert device._with_noise(replace(GPU, software=("driver 590",))).noise is None


def test_a_kept_figure_that_cannot_be_read_is_none(own_cache: Path) -> None:
    device.keep_noise(replace(GPU, noise=0.01))
    (kept,) = (own_cache / "devices").iterdir()
    kept.write_text("")
    assert device._with_noise(GPU).noise is None


def test_a_cache_that_cannot_be_written_does_not_keep_a_device_from_being_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TREESEARCH_CACHE", str(tmp_path / "file" / "below"))
    assert device.local("cpu").noise is None


def test_a_description_is_completed_only_where_that_takes_a_gpu_that_is_here(own_cache: Path) -> None:
    cpu = device.local("cpu")
    assert noise.completed(cpu) is cpu
    known = replace(GPU, noise=0.01)
    assert noise.completed(known) is known


@pytest.mark.nvcc
def test_a_gpu_that_cannot_be_measured_is_described_without(own_cache: Path) -> None:
    absent = replace(GPU, name="a GPU that nobody has")
    assert noise.completed(absent) is absent


def test_what_others_did_meanwhile_is_told_where_it_is_known() -> None:
    assert noise.others_share([measurement(None), measurement(0.1), measurement(0.3)]) == pytest.approx(0.2)
    assert noise.others_share([measurement(None)]) is None


def measurement(others: float | None) -> Measurement:
    one = Timing((1.0,))
    return Measurement(one, one, Ratio(1.0, 1.0, 1.0), conditions=Conditions(others=others))


# ── the yardstick ───────────────────────────────────────────────────────────────────────────────


def steps(source: str) -> int:
    found = re.search(r"step < (\d+)", source)
    assert found
    return int(found[1])


@pytest.mark.parametrize("language", [languages.CPP, languages.CUDA])
def test_two_percent_more_work_is_two_percent_more_steps(language: languages.Language) -> None:
    usual, more = (steps(yardstick.kernel(language, GPU, work)) for work in (1.0, 1.02))
    assert more / usual == pytest.approx(1.02, abs=1e-4)


@pytest.mark.nvcc
def test_the_yardstick_builds_for_a_gpu() -> None:
    source = yardstick.kernel(languages.CUDA, GPU)
    assert build(yardstick.subject(), languages.CUDA, source, GPU.architecture).library is not None


@pytest.mark.compiler
def test_measuring_keeps_what_verdicts_on_the_yardstick_say(
    compiler: str, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noise, "TIMES", 2)
    found = noise.measured(device.local("cpu"))
    assert found.noise is not None
    assert device.local("cpu") == found


@pytest.mark.gpu
def test_a_real_gpu_measures_its_noise(own_cache: Path) -> None:
    measured = noise.measured(device.local("cuda"))
    assert measured.noise is not None
    assert measured.noise < 0.2
    assert device.local("cuda").noise == measured.noise
