"""What the compiler made of a kernel, function by function: resources, launches with their occupancy, instructions."""

from __future__ import annotations

from collections.abc import Sequence

from treesearch.feedback.figures import size
from treesearch.feedback.occupancy import occupancy
from treesearch.feedback.seen import Launch, Metric, Seen
from treesearch.languages.mix import Mix
from treesearch.records import Device, Resources

HEADING = "What the compiler made of it (instructions as they stand in the code, however often they run):"
MOST_KINDS = 24
"""Classes of instructions that are told of one function, the most telling ones."""
LONGEST_NAME = 600
"""A longer name is left out; none is shortened."""


def described(taken: Sequence[Resources], architecture: str, device: Device | None, seen: Seen, limit: int) -> str:
    """A paragraph for each function in at most `limit` characters, launched ones first; the last ones are left out.

    Without a device nothing is said of how much of it a launch fills.
    """
    paragraphs = [_paragraph(name, taken, architecture, device, seen) for name in _names(taken, seen)]
    if not paragraphs:
        return ""
    room = limit - len(HEADING) - 50
    kept: list[str] = []
    for paragraph in paragraphs:
        if len(paragraph) + 1 <= room:
            kept.append(paragraph)
            room -= len(paragraph) + 1
    left_out = len(paragraphs) - len(kept)
    note = [f"({left_out} more function{'' if left_out == 1 else 's'} left out)"] if left_out else []
    return "\n".join([HEADING, *kept, *note])


def _names(taken: Sequence[Resources], seen: Seen) -> list[str]:
    launched = [launch.function for launch in seen.launches]
    compiled = [one.function for one in taken]
    disassembled = [mix.function for mix in sorted(seen.mixes, key=lambda mix: mix.total, reverse=True)]
    return list(dict.fromkeys([*launched, *compiled, *disassembled]))


def _paragraph(name: str, taken: Sequence[Resources], architecture: str, device: Device | None, seen: Seen) -> str:
    resources = [one for one in taken if one.function == name]
    metrics = [metric for metric in seen.metrics if metric.function == name]
    lines = [
        *map(_resources, resources),
        *(
            _launch(launch, resources[0] if len(resources) == 1 else None, architecture, device)
            for launch in seen.launches
            if launch.function == name
        ),
        *([_metrics(metrics)] if metrics else []),
        *(_mix(mix) for mix in seen.mixes if mix.function == name),
    ]
    return "\n  ".join([f"{_shown(name)}:", *lines])


def _shown(name: str) -> str:
    if len(name) > LONGEST_NAME:
        return f"a function whose name has {len(name)} characters"
    return " ".join(name.split()) or "a function whose name is not known"


def _resources(taken: Resources) -> str:
    spills = f"spills {taken.spill_store_bytes} bytes stored and {taken.spill_load_bytes} loaded"
    spilled = spills if taken.spill_store_bytes or taken.spill_load_bytes else "no spills"
    return (
        f"{taken.registers} registers a thread, {spilled}, stack {size(taken.stack_bytes)}, "
        f"static shared memory {size(taken.shared_bytes)}"
    )


def _launch(launch: Launch, taken: Resources | None, architecture: str, device: Device | None) -> str:
    times = "launched" if launch.times == 1 else f"launched {launch.times} times"
    shape = f"grid {_extent(launch.grid)}, block {_extent(launch.block)}"
    told = f"{times}: {shape}, dynamic shared memory {size(launch.shared_bytes)}"
    if taken is None:
        return told
    shared = taken.shared_bytes + launch.shared_bytes
    held = occupancy(architecture, launch.threads, taken.registers, shared)
    if held is None or device is None:
        return told
    waves = launch.blocks / (held.blocks * device.cores)
    return (
        f"{told}\n  an SM holds {held.blocks} block{'' if held.blocks == 1 else 's'} of it, {held.warps} of "
        f"{held.most_warps} warps, limited by {' and '.join(held.limits)}; the grid is {waves:.2f} waves"
    )


def _extent(shape: tuple[int, int, int]) -> str:
    """`64 × 16`: without trailing ones."""
    wide = [*shape]
    while len(wide) > 1 and wide[-1] == 1:
        wide.pop()
    return " × ".join(map(str, wide))


def _metrics(metrics: Sequence[Metric]) -> str:
    return "ncu: " + ", ".join(f"{one.name} {one.value:.4g}{f' {one.unit}' if one.unit else ''}" for one in metrics)


def _mix(mix: Mix) -> str:
    counts = mix.counts[:MOST_KINDS]
    told = [f"{count.number} {' '.join(count.kind.split())}" for count in counts]
    rest = mix.total - sum(count.number for count in counts)
    return f"{mix.total} instructions: {', '.join([*told, *([f'{rest} of further kinds'] if rest else [])])}"
