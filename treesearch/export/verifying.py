"""Judge a kernel once more before it leaves: by the ordinary evaluator, in fresh processes, on fresh inputs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from treesearch.errors import MachineError, UsageError
from treesearch.evaluation import target
from treesearch.evaluation.evaluator import Evaluator
from treesearch.evaluation.target import HERE, Here, Target
from treesearch.export.exported import Exported
from treesearch.records import Device, Evaluation, Status

Say = Callable[[str], None]


@dataclass(frozen=True)
class Verification:
    """What came of judging a kernel again: a verdict of `verified`, or why there is none."""

    evaluation: Evaluation | None = None
    device: Device | None = None
    """This machine's, where it was judged now."""
    absent: str = ""
    """Why it was not judged."""

    def __post_init__(self) -> None:
        if (self.evaluation is None) != bool(self.absent):
            raise ValueError("a verification has a verdict or the reason why there is none")


def verify(exported: Exported, *, here: Here = HERE, announce: Say = lambda what: None) -> Verification:
    """Judge the kernel on this machine, where it has a device such as the kernel was judged on.

    Raises UsageError where the kernel is not verified now.
    """
    try:
        goal = target.at_hand(exported.language, here)
    except MachineError:
        return Verification(absent=f"this machine has no {exported.device.kind.upper()} device")
    if why := _unlike(exported, goal.device):
        return Verification(absent=why)
    announce(f"judging {exported.id} again on {goal.device.name}")
    evaluation = _judged(exported, goal, announce)
    if evaluation.status is not Status.VERIFIED:
        said = str(evaluation.status).replace("_", " ")
        raise UsageError(
            f"Kernel {exported.id} is {said} when it is judged again here, so it is not exported: {evaluation.error}"
        )
    return Verification(evaluation, goal.device)


def _unlike(exported: Exported, device: Device) -> str:
    """Why a device is not such as the kernel was made for; nothing where it is."""
    wanted = exported.device
    if device.kind != wanted.kind:
        return f"this machine has no {wanted.kind.upper()} device that is used for {exported.language.name}"
    if device.architecture != wanted.architecture:
        return f"this machine's device is {device.architecture}, the kernel was judged on {wanted.architecture}"
    return ""


def _judged(exported: Exported, goal: Target, announce: Say) -> Evaluation:
    protocol = goal.protocol(exported.problem, exported.run.config.deadline_seconds)
    evaluator = Evaluator(exported.problem, goal.language, protocol, goal.device, announce=announce)
    with closing(evaluator):
        evaluation = evaluator.evaluate(exported.source)
        if evaluation.status is Status.SUSPECT:  # a machine that is busy for a while does that as well
            evaluator.redraw()
            evaluation = evaluator.evaluate(exported.source)
    return evaluation
