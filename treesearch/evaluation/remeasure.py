"""Measure kernels once more, for figures to publish."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from treesearch.evaluation.evaluator import Evaluator
from treesearch.languages import Language
from treesearch.records import Device, Evaluation, Problem, Protocol, Status


def remeasure(
    problem: Problem,
    language: Language,
    protocol: Protocol,
    hardware: Device,
    sources: Sequence[str],
    *,
    announce: Callable[[str], None] = lambda what: None,
) -> Iterator[Evaluation]:
    """An evaluation of each source, in order, as each is done.

    Processes, inputs and the order of calls are new, so that nothing of the luck that had a kernel picked among many is
    in its figures; beside eager and torch.compile there is torch under other settings (`Measurement.configurations`).
    A kernel whose time is doubted is measured once more, on other inputs. `hardware` is this machine's.
    Raises MachineError where the reference itself, or a process that times it, fails.
    """
    with Evaluator(
        problem, language, protocol, hardware, announce=announce, promoted=len(sources), thorough=True
    ) as evaluator:
        for source in sources:
            evaluation = evaluator.evaluate(source)
            if evaluation.status is Status.SUSPECT:  # a machine that is busy for a while does that as well
                evaluator.redraw()
                evaluation = evaluator.evaluate(source)
            yield evaluation
