"""Judge again what is re-opened: kernels that came from one that turned out to be suspect after they were verified."""

from __future__ import annotations

from treesearch.evaluation.build import Built
from treesearch.events import Judged, Moved, Preparing, Step
from treesearch.lineage import Standing, standing
from treesearch.records import Entry
from treesearch.steps.dispatch import dispatch
from treesearch.steps.task import Task, asking

BUNDLE = "again"


def renew(task: Task) -> None:
    """Give every re-opened kernel of the run a new verdict, stored beside the old one.

    Raises Waiting, with all of them in one bundle, where their device is elsewhere.
    """
    due = [entry for entry in task.lineage().entries if standing(entry) is Standing.REOPENED]
    if not due:
        return
    task.observe(Preparing(f"judging {len(due)} again that came from a kernel found suspect"))
    task.evaluator.redraw()
    with asking() as pool:
        builds = [pool.submit(task.evaluator.build, entry.kernel.source or "") for entry in due]
        away = {
            entry.kernel.id for entry, build in zip(due, builds, strict=True) if not _judge(task, entry, build.result())
        }
    if away:
        raise dispatch(task, BUNDLE, away)


def _judge(task: Task, entry: Entry, built: Built) -> bool:
    """Whether there is a verdict here; it is stored before the next kernel's turn."""
    task.observe(Moved(entry.kernel.round, entry.kernel.ordinal, Step.JUDGING))
    evaluation = task.evaluator.judge(built)
    if evaluation is None:
        task.observe(Moved(entry.kernel.round, entry.kernel.ordinal, Step.ELSEWHERE))
        return False
    task.observe(Judged(task.save(entry, evaluation), fresh=True))
    return True
