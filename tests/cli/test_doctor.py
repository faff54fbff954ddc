"""What `treesearch doctor` and `treesearch device` say of a device's noise."""

from __future__ import annotations

from dataclasses import replace

from treesearch.cli.doctor import noise_finding
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
