"""Devices and floors in words."""

from __future__ import annotations

from treesearch.records import Device, Entry
from treesearch.roofline import Floor
from treesearch.view import text

CORES = {"cpu": "core", "cuda": "SM"}
BOUNDS = {"bytes": "moving", "operations": "computing"}


def device(hardware: Device) -> str:
    """What it is, in one clause: `AMD EPYC, 2 cores`; `NVIDIA H100 80GB HBM3, 132 SMs, sm_90a`."""
    name = text.one_line(hardware.name)
    parts = [name, text.count(hardware.cores, CORES.get(hardware.kind, "core"))]
    return ", ".join([*parts, *([text.one_line(hardware.architecture)] if hardware.architecture else [])])


def figures(hardware: Device) -> str:
    """Clocks and what was measured, on one line; empty where nothing is known."""
    parts = [
        f"{hardware.clock_mhz} MHz" if hardware.clock_mhz else "",
        f"memory {hardware.memory_clock_mhz} MHz" if hardware.memory_clock_mhz else "",
        f"copies at {text.quantity(hardware.bandwidth, 'B/s')}" if hardware.bandwidth else "",
        _rates(hardware),
        f"noise {100 * hardware.noise:.1f} %" if hardware.noise else "",
        ", ".join(text.one_line(version, 60) for version in hardware.software),
    ]
    return " · ".join(part for part in parts if part)


def _rates(hardware: Device) -> str:
    ordered = sorted(hardware.rates, key=lambda rate: -rate.flops)
    listed = ", ".join(f"{text.one_line(rate.precision)} {text.quantity(rate.flops, 'FLOP/s')}" for rate in ordered)
    return f"matrix products: {listed}" if listed else ""


def floor(bound: Floor) -> str:
    """The floor and what sets it: `floor 0.179 ms: moving 537 MB at 3 TB/s`."""
    return f"floor {text.milliseconds(bound.milliseconds)}: {cause(bound)}"


def cause(bound: Floor) -> str:
    """What sets a floor: `computing 137 GFLOP at 406 TFLOP/s in tf32`."""
    unit = "B" if bound.bound == "bytes" else "FLOP"
    amount = text.quantity(bound.milliseconds / 1e3 * bound.rate, unit)
    precision = f" in {bound.precision}" if bound.precision else ""
    return f"{BOUNDS[bound.bound]} {amount} at {text.quantity(bound.rate, f'{unit}/s')}{precision}"


def place(entry: Entry, bound: Floor | None) -> str:
    """How near a kernel comes to the floor: `76 % of the floor's speed`; empty where either is unknown."""
    if bound is None or not entry.milliseconds:
        return ""
    return f"{text.percent(100 * bound.milliseconds / entry.milliseconds)} of the floor's speed"
