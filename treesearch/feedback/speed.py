"""How fast a kernel is, and how near to what its device could do."""

from __future__ import annotations

from collections.abc import Iterator

from treesearch import roofline
from treesearch.feedback.figures import ms, rate, ratio
from treesearch.records import Accuracy, Conditions, Device, Measurement, Problem, Ratio


def lines(problem: Problem, device: Device, measured: Measurement) -> Iterator[str]:
    """The kernel's time, its place under the measured roofs, and how it compares."""
    low, high = measured.kernel.quartiles
    count = len(measured.kernel.samples)
    samples = f", {count} samples" if count > 1 else ""
    yield f"It takes {ms(measured.kernel.median)} (quartiles {ms(low)} and {ms(high)}{samples})."
    yield from _roofs(problem, device, measured.kernel.median)
    if measured.warm is not None:
        yield f"With its data in the caches it takes {ms(measured.warm)}."
    if measured.parent_speedup:
        yield f"Launched in turn with the kernel that it was made from, it is {_faster(measured.parent_speedup)}."
    yield f"PyTorch eager takes {ms(measured.eager.median)}: the kernel is {_faster(measured.eager_speedup)}."
    if measured.compile and measured.compile_speedup:
        yield f"torch.compile takes {ms(measured.compile.median)}: the kernel is {_faster(measured.compile_speedup)}."
    else:
        yield "torch.compile has no timing for this problem."
    if measured.conditions and (told := conditions(measured.conditions)):
        yield f"Meanwhile: {told}."


def accuracy(problem: Problem, seen: Accuracy) -> str:
    return (
        f"Its worst row error over {seen.calls} calls is {seen.worst_error:.1e} ({seen.precision}); eager's own is "
        f"{seen.eager_error:.1e}; {problem.tolerance:g} is allowed."
    )


def _roofs(problem: Problem, device: Device, milliseconds: float) -> Iterator[str]:
    """Bytes that must move and operations, by the second, beside what the device was measured to do."""
    if moved := problem.bytes_read + problem.bytes_written:
        reached = 1e3 * moved / milliseconds
        share = f", {_percent(reached / device.bandwidth)} of the measured bandwidth" if device.bandwidth else ""
        yield f"That is {rate(reached)}B/s of compulsory traffic{share}."
    floor = roofline.floor(problem, device)
    if problem.flops:
        reached = 1e3 * problem.flops / milliseconds
        best = roofline.fastest_rate(problem, device)
        roofs = [one for one in device.rates if one is best or one.precision == problem.precision]
        shares = [f"{_percent(reached / one.flops)} of the {one.precision} roof" for one in roofs]
        beside = f": {', '.join(shares)}" if shares else ""
        yield f"That is {rate(reached)}FLOP/s of the reference's {rate(problem.flops).strip()} operations{beside}."
    if floor:
        by = "bytes" if floor.bound == "bytes" else f"operations in {floor.precision}"
        yield f"That is {ratio(milliseconds / floor.milliseconds)} the floor of {ms(floor.milliseconds)}, set by {by}."


def conditions(found: Conditions) -> str:
    known = {
        "clock {:.0f} MHz": found.clock_mhz,
        "memory clock {:.0f} MHz": found.memory_clock_mhz,
        "{:.0f} W": found.power_watts,
        "{:.0f} °C": found.celsius,
    }
    told = [form.format(value) for form, value in known.items() if value is not None]
    if found.others is not None:
        told.append(f"other processes used {_percent(found.others)} of the cores")
    if found.throttled:
        why = f" ({', '.join(found.reasons)})" if found.reasons else ""
        told.append(f"{found.throttled} samples taken at a clock held down{why} were discarded")
    return ", ".join(told)


def _faster(found: Ratio) -> str:
    return f"{ratio(found.value)} as fast (95 % interval {ratio(found.low)} to {ratio(found.high)})"


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.0f} %" if percent >= 9.5 else f"{percent:.1g} %"
