"""How far apart two measurements of one kernel are on this machine: what a difference has to beat to mean anything."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from treesearch import languages
from treesearch.errors import MachineError, TreesearchError
from treesearch.evaluation import device, target, yardstick
from treesearch.evaluation.conditions import Processor
from treesearch.evaluation.evaluator import Evaluator
from treesearch.records import Device

TIMES = 12
"""Verdicts on the same kernel, each in a process of its own: 66 pairs of them."""
DEADLINE_SECONDS = 20.0
BUSY = 0.05
"""Share of the cores from which on other processes are worth a warning."""
Announce = Callable[[str], None]


def measured(hardware: Device, announce: Announce = lambda what: None) -> Device:
    """This machine's device with its noise, which is kept for `device.local`.

    Takes some twenty seconds. Raises MachineError where the machine cannot judge a right kernel, ToolchainError where
    it cannot build one.
    """
    around = Processor()
    around.before()
    found = replace(hardware, noise=floor(medians(hardware, TIMES, announce)))
    others = around.summary().others
    if others is not None and others > BUSY:
        announce(
            f"warning: other processes used {100 * others:.0f} % of the cores meanwhile; measure again without them"
        )
    device.keep_noise(found)
    return found


def completed(hardware: Device) -> Device:
    """A GPU with its noise, which is measured once as its bandwidth is, or without where that fails; a CPU as it is."""
    if hardware.kind == "cpu" or hardware.noise is not None:
        return hardware
    with suppress(TreesearchError):  # no compiler, for instance
        return measured(hardware)
    return hardware


def floor(times: Sequence[float]) -> float:
    """How far the ratio of two of these times is from 1, 95 times in 100."""
    distances = [abs(one / other - 1) for one, other in itertools.permutations(times, 2)]
    return statistics.quantiles(distances, n=20, method="inclusive")[-1]


def medians(hardware: Device, times: int, announce: Announce = lambda what: None) -> list[float]:
    """Milliseconds that so many verdicts on the same kernel state, one after the other."""
    language = languages.for_device(hardware.kind)
    subject = yardstick.subject()
    protocol = target.protocol(subject, DEADLINE_SECONDS, hardware)
    with Evaluator(subject, language, protocol, hardware, announce=announce, promoted=0) as evaluator:
        built = evaluator.build(yardstick.kernel(language, hardware))
        found = []
        for _ in range(times):
            judged = evaluator.judge(built)
            if judged.milliseconds is None:
                raise MachineError(f"A kernel that is right is {judged.status} on this machine: {judged.error}")
            found.append(judged.milliseconds)
        return found
