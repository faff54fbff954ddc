"""Send a round's kernels to the device that must judge them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from treesearch.errors import Waiting
from treesearch.evaluation import bundle
from treesearch.evaluation.bundle import Bundle, Due
from treesearch.lineage import Lineage
from treesearch.records import Entry, Purpose
from treesearch.steps.task import Task, due_ordinal

AGAIN = "."
"""Between a kernel's id and the number of the verdict that it is due, from the second on."""


FINAL = "final"
"""In the name of a bundle of kernels that are measured again because they won."""


def dispatch(task: Task, name: str, away: Collection[str]) -> Waiting:
    """Pack the kernels of these ids into one bundle, named after the run and `name`.

    Returns what to raise, which says where it is to go.
    """
    lineage = task.lineage()
    fastest = lineage.fastest()
    kernels = [_due(lineage, entry) for entry in lineage.entries if entry.id in away]
    incumbent = fastest.milliseconds if fastest else None
    return _pack(task, name, replace(_bundle(task, kernels), promoted=task.run.config.beam, incumbent=incumbent))


def dispatch_finals(task: Task, due: Sequence[Entry]) -> Waiting:
    """Pack kernels that won, to be measured again; returns what to raise."""
    kernels = [Due.of(entry.kernel.id, entry.kernel.source or "") for entry in due]
    return _pack(task, FINAL, replace(_bundle(task, kernels), purpose=Purpose.FINAL))


def _bundle(task: Task, kernels: Sequence[Due]) -> Bundle:
    return Bundle(
        run=task.run.id,
        problem=task.problem,
        problem_digest=task.problem.digest,
        language=task.language.name,
        protocol=task.evaluator.protocol,
        device=task.device,
        kernels=tuple(kernels),
    )


def _pack(task: Task, name: str, packed: Bundle) -> Waiting:
    return bundle.pack(packed, f"{task.run.id}-{name}", ["the same treesearch run command again"])


def _due(lineage: Lineage, entry: Entry) -> Due:
    refined = lineage.refined(entry.kernel.id)
    parent = refined.kernel.source if refined else None
    return Due.of(judgement(entry), entry.kernel.source or "", parent or "")


def judgement(entry: Entry) -> str:
    """What a bundle calls a kernel. One that is judged again has another name, so that an earlier bundle with the
    same kernels, and its results, are not taken for this one's."""
    ordinal = due_ordinal(entry)
    return entry.kernel.id if ordinal == 1 else f"{entry.kernel.id}{AGAIN}{ordinal}"


def judged(name: str) -> tuple[str, int]:
    """The kernel's id and the number of its verdict, from what a bundle called it. Raises ValueError."""
    kernel, again, number = name.partition(AGAIN)
    if not again:
        return kernel, 1
    if not number.isascii() or not number.isdigit() or int(number) < 2:
        raise ValueError(f"{name!a} names no verdict of a kernel")
    return kernel, int(number)
