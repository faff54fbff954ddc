"""How far apart two verdicts on one kernel are on this machine: what a difference between any has to beat.

A duel needs no such figure (`weighing.py`): it sees what its own processes differ by.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from treesearch import languages
from treesearch.errors import MachineError, TreesearchError
from treesearch.evaluation import device, target, yardstick
from treesearch.evaluation.evaluator import Evaluator
from treesearch.records import Device, Evaluation, Measurement

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
    measurements = verdicts(hardware, TIMES, announce)
    if (others := others_share(measurements)) and others > BUSY:
        announce(
            f"warning: other processes used {100 * others:.0f} % of the cores meanwhile; measure again without them"
        )
    found = replace(hardware, noise=floor([one.kernel.median for one in measurements]))
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


def others_share(measurements: Sequence[Measurement]) -> float | None:
    """Share of all cores that other processes had meanwhile, where that is known."""
    known = [one.conditions.others for one in measurements if one.conditions and one.conditions.others is not None]
    return statistics.fmean(known) if known else None


def verdicts(hardware: Device, times: int, announce: Announce = lambda what: None) -> list[Measurement]:
    """What so many verdicts on the same kernel measured, one after the other, each in a process of its own."""
    language = languages.for_device(hardware.kind)
    subject = yardstick.subject()
    protocol = target.protocol(subject, DEADLINE_SECONDS, hardware)
    with Evaluator(subject, language, protocol, hardware, announce=announce, promoted=0) as evaluator:
        built = evaluator.build(yardstick.kernel(language, hardware))
        return [_measurement(evaluator.judge(built)) for _ in range(times)]


def _measurement(judged: Evaluation) -> Measurement:
    if judged.measurement is None:
        raise MachineError(f"A kernel that is right is {judged.status} on this machine: {judged.error}")
    return judged.measurement
