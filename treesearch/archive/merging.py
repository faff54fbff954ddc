"""Copying one run between archives."""

from __future__ import annotations

from sqlalchemy import ColumnElement, select, union
from sqlalchemy.orm import Session

from treesearch.archive import passages
from treesearch.archive import schema as s
from treesearch.archive.inserting import complete, insert_new
from treesearch.archive.renewing import copy_evaluation
from treesearch.errors import UsageError


def copy_run(source: Session, target: Session, run_id: str) -> None:
    """Copy a run and every row that belongs to it.

    Rows that the target holds already stay as they are, but for figures of a problem or a device that they lack.
    """
    run = source.get(s.RunRow, run_id)
    if run is None:
        raise UsageError(f"the archive to copy from has no run {run_id!r}; look at its list of runs")
    _refuse_namesake(run, target)
    for table, condition in _parts(run):
        rows = source.scalars(select(table).where(condition)).all()
        if table in (s.ProblemRow, s.DeviceRow):
            for row in rows:
                complete(target, row)
        elif table is s.AnswerRow:
            _copy_answers(source, target, condition)
        elif table is s.EvaluationRow:
            for verdict in source.scalars(select(s.EvaluationRow).where(condition).order_by(s.EvaluationRow.ordinal)):
                copy_evaluation(target, verdict)
        else:
            insert_new(target, rows)
    copy = target.get_one(s.RunRow, run_id)
    copy.state, copy.stopped, copy.rounds = run.state, run.stopped, run.rounds
    copy.budget, copy.prices = run.budget, run.prices


def _copy_answers(source: Session, target: Session, which: ColumnElement[bool]) -> None:
    """Prompts become passages, also those that the source keeps whole."""
    rows = source.scalars(select(s.AnswerRow).where(which)).all()
    asked = zip(rows, passages.prompts(source, rows), strict=True)
    new = [one for row, one in asked if insert_new(target, [row], prompt="", passages=passages.digests(one))]
    passages.keep(target, new)


def _refuse_namesake(run: s.RunRow, target: Session) -> None:
    held = target.get(s.RunRow, run.id)
    if held is not None and held.created != run.created:
        raise UsageError(
            f"the archive holds another run {run.id}, begun {held.created}, of the same problem, configuration and "
            "device; both cannot be kept there, so search again as a new run"
        )


def _parts(run: s.RunRow) -> tuple[tuple[type[s.Base], ColumnElement[bool]], ...]:
    """The tables, each after those it refers to, with the condition for rows of this run."""
    kernels = select(s.KernelRow.id).where(s.KernelRow.run == run.id)
    judged_on = select(s.EvaluationRow.device).where(s.EvaluationRow.kernel.in_(kernels))
    measured_on = select(s.RemeasurementRow.device).where(s.RemeasurementRow.kernel.in_(kernels))
    compared_on = select(s.ComparisonRow.device).where(s.ComparisonRow.first.in_(kernels))
    devices = union(judged_on, measured_on, compared_on)
    return (
        (s.ProblemRow, s.ProblemRow.digest == run.problem),
        (s.DeviceRow, (s.DeviceRow.id == run.device) | s.DeviceRow.id.in_(devices)),
        (s.RunRow, s.RunRow.id == run.id),
        (s.RoundRow, s.RoundRow.run == run.id),
        (s.DecisionRow, s.DecisionRow.run == run.id),
        (s.AnswerRow, s.AnswerRow.run == run.id),
        (s.FailedAskRow, s.FailedAskRow.run == run.id),
        (s.TurnRow, s.TurnRow.run == run.id),
        (s.IdeaRow, s.IdeaRow.run == run.id),
        (s.KernelRow, s.KernelRow.run == run.id),
        (s.EdgeRow, s.EdgeRow.child.in_(kernels)),
        (s.FindingRow, s.FindingRow.kernel.in_(kernels)),
        (s.EvaluationRow, s.EvaluationRow.kernel.in_(kernels)),
        (s.RemeasurementRow, s.RemeasurementRow.kernel.in_(kernels)),
        (s.ComparisonRow, s.ComparisonRow.first.in_(kernels)),
    )
