"""How fast a kernel could be at the very best: bytes at the measured bandwidth, operations at a measured rate."""

from __future__ import annotations

from dataclasses import dataclass

from treesearch.records import Device, Problem, Rate

ROUNDOFF = {
    "float64": 2.0**-53,
    "float32": 2.0**-24,
    "tf32": 2.0**-11,
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
    "float8": 2.0**-4,
}
"""Unit roundoff of each precision that matrix products are measured in."""


@dataclass(frozen=True)
class Floor:
    """A time that no kernel can beat, in milliseconds, and what sets it."""

    milliseconds: float
    bound: str
    """`bytes` or `operations`."""
    rate: float
    """Bytes or operations a second."""
    precision: str = ""
    """The precision of that rate, where operations set the floor."""


def floor(problem: Problem, device: Device) -> Floor | None:
    """The larger of the two bounds; None where the device was not measured.

    Bytes: every input is read once and every output written once. Operations: at the fastest measured rate whose
    unit roundoff is within the problem's tolerance. That rate may need corrections to hold the tolerance on every
    call, so the floor is a bound, not a promise. Operations are those that the reference's operators define, masked
    ones included: below the floor lies causal attention, and an algorithm that needs fewer of them.
    """
    bounds = []
    if device.bandwidth:
        moved = problem.bytes_read + problem.bytes_written
        bounds.append(Floor(1e3 * moved / device.bandwidth, "bytes", device.bandwidth))
    best = fastest_rate(problem, device)
    if problem.flops and best:
        bounds.append(Floor(1e3 * problem.flops / best.flops, "operations", best.flops, best.precision))
    return max(bounds, key=lambda bound: bound.milliseconds, default=None)


def fastest_rate(problem: Problem, device: Device) -> Rate | None:
    """The fastest measured rate whose unit roundoff is within the problem's tolerance."""
    usable = [rate for rate in device.rates if ROUNDOFF.get(rate.precision, 1.0) <= problem.tolerance]
    return max(usable, key=lambda rate: rate.flops, default=None)
