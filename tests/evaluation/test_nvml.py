"""NVML through ctypes, against a library with its functions, and against ones that lack or refuse them."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from treesearch.evaluation.conditions import Graphics
from treesearch.evaluation.cuda.nvml import Gpu

UUID = "0123456789abcdef0123456789abcdef"
BUS = "0000:18:00.0"
FAKE = r"""
#include <string.h>

extern "C" {
unsigned long long mask = 0;
unsigned mhz = 1980;
static int the_gpu;

int nvmlInit_v2(void) { return INIT; }

int nvmlDeviceGetHandleByUUID(const char* uuid, void** handle) {
    if (DIVIDED || strcmp(uuid, "GPU-01234567-89ab-cdef-0123-456789abcdef")) return 6;
    *handle = &the_gpu;
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** handle) {
    if (strcmp(bus, "0000:18:00.0")) return 6;
    *handle = &the_gpu;
    return 0;
}

int REASONS(void* handle, unsigned long long* reasons) {
    if (handle != &the_gpu) return 2;
    *reasons = mask;
    return 0;
}

#ifndef SILENT
int nvmlDeviceGetClockInfo(void* handle, int which, unsigned* number) {
    *number = which == 1 ? mhz : which == 2 ? 2619 : 0;
    return handle != &the_gpu;
}
int nvmlDeviceGetPowerUsage(void* handle, unsigned* milliwatts) {
    *milliwatts = 612500;
    return handle != &the_gpu;
}
#endif

int nvmlDeviceGetTemperature(void* handle, int sensor, unsigned* celsius) {
    *celsius = 61;
    return sensor == 0 && handle == &the_gpu ? 0 : 3;
}
}
"""
CHOICES = {"INIT": "0", "DIVIDED": "0", "REASONS": "nvmlDeviceGetCurrentClocksEventReasons"}
Library = Callable[..., Path]


@pytest.fixture
def library(compiler: str, tmp_path: Path) -> Library:
    def made(**changed: str) -> Path:
        path = tmp_path / "libfake.so"
        defined = [f"-D{name}={value}" for name, value in {**CHOICES, **changed}.items()]
        command = [compiler, "-shared", "-fPIC", *defined, "-x", "c++", "-", "-o", str(path)]
        subprocess.run(command, input=FAKE, text=True, check=True)
        return path

    return made


def found(path: Path) -> Gpu:
    gpu = Gpu.find(UUID, BUS, str(path))
    assert gpu is not None
    return gpu


def set_reasons(path: Path, mask: int) -> None:
    ctypes.c_ulonglong.in_dll(ctypes.CDLL(str(path)), "mask").value = mask


@pytest.mark.compiler
@pytest.mark.untimed
def test_figures_come_in_their_units(library: Library) -> None:
    gpu = found(library())
    figures = gpu.clock_mhz(), gpu.memory_clock_mhz(), gpu.power_watts(), gpu.celsius()
    assert figures == (1980.0, 2619.0, 612.5, 61.0)


@pytest.mark.compiler
@pytest.mark.untimed
@pytest.mark.parametrize(
    "name", ["nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"]
)
def test_reasons_that_slow_a_kernel_down_are_named_under_the_old_name_too(library: Library, name: str) -> None:
    path = library(REASONS=name)
    gpu = found(path)
    assert gpu.slowdowns() == ()
    set_reasons(path, 0x04 | 0x08 | 0x20 | 0x40 | 0x80)
    expected = ("power cap", "hardware slowdown", "thermal slowdown", "hardware thermal slowdown", "power brake")
    assert gpu.slowdowns() == expected


@pytest.mark.compiler
@pytest.mark.untimed
def test_an_idle_gpu_and_clocks_that_somebody_set_are_no_slowdown(library: Library) -> None:
    path = library()
    set_reasons(path, 0x1 | 0x2 | 0x10 | 0x100)
    assert found(path).slowdowns() == ()


@pytest.mark.compiler
@pytest.mark.untimed
def test_a_gpu_with_other_uuids_is_found_by_its_place(library: Library) -> None:
    path = library(DIVIDED="1")
    assert Gpu.find(UUID, BUS, str(path)) is not None
    assert Gpu.find(UUID, "0000:19:00.0", str(path)) is None


@pytest.mark.compiler
@pytest.mark.untimed
def test_what_a_library_lacks_is_unknown(library: Library) -> None:
    gpu = found(library(SILENT="1", REASONS="another"))
    assert (gpu.clock_mhz(), gpu.memory_clock_mhz(), gpu.power_watts(), gpu.slowdowns()) == (None, None, None, ())
    assert gpu.celsius() == 61.0


@pytest.mark.compiler
@pytest.mark.untimed
def test_a_library_that_finds_no_driver_knows_no_gpu(library: Library) -> None:
    assert Gpu.find(UUID, BUS, str(library(INIT="9"))) is None


def test_without_a_library_nothing_is_known(tmp_path: Path) -> None:
    assert Gpu.find(UUID, BUS, str(tmp_path / "libabsent.so")) is None


@pytest.mark.compiler
@pytest.mark.untimed
def test_samples_with_the_clock_held_down_are_told_and_left_out_of_the_medians(library: Library) -> None:
    path = library()
    clock = ctypes.c_uint.in_dll(ctypes.CDLL(str(path)), "mhz")
    sampler = Graphics(found(path))
    for mhz, before, after in [(1980, 0, 0), (1200, 0x04, 0), (1900, 0, 0x1), (1300, 0, 0x60), (1800, 0, 0)]:
        clock.value = mhz
        set_reasons(path, before)
        sampler.before()
        set_reasons(path, after)
        sampler.after()
    assert list(sampler.held) == [False, True, False, True, False]
    summary = sampler.summary()
    assert (summary.clock_mhz, summary.throttled) == (1900.0, 2)
    assert summary.reasons == ("power cap", "thermal slowdown", "hardware thermal slowdown")
    assert (summary.power_watts, summary.celsius, summary.others) == (612.5, 61.0, None)


@pytest.mark.gpu
def test_a_real_gpu_tells_its_clocks() -> None:
    from treesearch.evaluation.cuda import device

    sampler = Graphics(device.sensors())
    sampler.before()
    sampler.after()
    summary = sampler.summary()
    assert summary.clock_mhz is not None
    assert 100 < summary.clock_mhz < 4000
    assert summary.celsius is not None
    assert 10 < summary.celsius < 110
