"""Send a round's kernels to the device that must judge them."""

from __future__ import annotations

from collections.abc import Collection

from treesearch.errors import Waiting
from treesearch.evaluation import bundle
from treesearch.evaluation.bundle import Bundle, Due
from treesearch.steps.task import Task


def dispatch(task: Task, number: int, away: Collection[str]) -> Waiting:
    """Pack the kernels of these ids into one bundle; returns what to raise, which says where it is to go."""
    entries = [entry for entry in task.archive.entries(task.run.id) if entry.kernel.id in away]
    packed = Bundle(
        run=task.run.id,
        problem=task.problem,
        problem_digest=task.problem.digest,
        language=task.language.name,
        protocol=task.evaluator.protocol,
        device=task.device,
        kernels=tuple(Due.of(entry.kernel.id, entry.kernel.source or "") for entry in entries),
    )
    return bundle.pack(packed, f"{task.run.id}-r{number}", ["the same treesearch run command again"])
