"""The reading half of an archive: rows in, frozen records out, one short transaction per call."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Self

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from treesearch.archive import bills, decisions, findings, mapping, outlining, passages, searching, verdicts, whole
from treesearch.archive import schema as s
from treesearch.archive.bills import Bill
from treesearch.archive.connect import locate, one_writer, open_engine
from treesearch.archive.findings import Finding
from treesearch.archive.growing import Growing
from treesearch.archive.mapping import AnswerSize, Author, FailedAsk
from treesearch.archive.migrate import ensure_schema
from treesearch.archive.naming import unique
from treesearch.archive.outlining import Questions
from treesearch.archive.searching import Hit
from treesearch.archive.summaries import Summaries, Summary
from treesearch.archive.trouble import translated
from treesearch.archive.whole import AS_FOUND, BY_AGE, BY_CHILD, edges_of, natural
from treesearch.errors import UsageError
from treesearch.lineage import Lineage
from treesearch.records import (
    Answer,
    Comparison,
    Decision,
    Device,
    Edge,
    Entry,
    Evaluation,
    Kernel,
    Problem,
    Proposal,
    Remeasurement,
    Request,
    Round,
    Run,
    Spending,
    Status,
    Turn,
    digest,
)


class Reader:
    """Everything that only looks."""

    def __init__(
        self, url: str | os.PathLike[str] = ".treesearch/archive.db", *, read_only: bool = False, _busy: float = 30.0
    ) -> None:
        self._place = locate(url)
        self._one_writer = one_writer(self._place, _busy)
        self._last, self._summaries, self._one_at_a_time = Growing("", self._reading), Summaries(), threading.Lock()
        with translated(str(self._place)):
            self._engine = open_engine(self._place, read_only=read_only, busy_seconds=_busy)
            try:
                self._engine = ensure_schema(self._engine, self._place, read_only=read_only)
            except BaseException:  # whatever it was, a failed opening must not keep connections
                self._engine.dispose()
                raise

    @property
    def url(self) -> str:
        """The archive's URL with any password hidden."""
        return self._place.url.render_as_string(hide_password=True)

    def close(self) -> None:
        with translated(str(self._place)):
            self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        with translated(str(self._place)), Session(self._engine) as session, session.begin():
            yield session

    # ── problems, devices, runs ─────────────────────────────────────────────────────────────────

    def problem(self, digest: str) -> Problem:
        """The problem whose source has that digest. Raises UsageError if there is none."""
        with self._reading() as session:
            row = session.get(s.ProblemRow, digest)
            if row is None:
                raise UsageError(f"no problem {digest!r} in {self._place}; look at those of its runs")
            return mapping.problem_of(row)

    def problems(self) -> tuple[Problem, ...]:
        """Every problem, by name."""
        with self._reading() as session:
            rows = session.scalars(select(s.ProblemRow).order_by(s.ProblemRow.name, s.ProblemRow.digest))
            return tuple(map(mapping.problem_of, rows))

    def device(self, id: str) -> Device:
        """The device of that id. Raises UsageError if there is none."""
        with self._reading() as session:
            row = session.get(s.DeviceRow, id)
            if row is None:
                raise UsageError(f"no device {id!r} in {self._place}; look at those of its runs")
            return mapping.device_of(row)

    def devices(self) -> tuple[Device, ...]:
        """Every device, that of the newest run first; those that are no run's target come last, by name."""
        newest = select(func.max(s.RunRow.created)).where(s.RunRow.device == s.DeviceRow.id).scalar_subquery()
        order = (func.coalesce(newest, "").desc(), s.DeviceRow.name, s.DeviceRow.id)
        with self._reading() as session:
            return tuple(map(mapping.device_of, session.scalars(select(s.DeviceRow).order_by(*order))))

    def run(self, id_or_prefix: str) -> Run:
        """The run whose id starts so. Raises UsageError, naming candidates, unless there is exactly one."""
        with self._reading() as session:
            row = session.get_one(s.RunRow, unique(session, s.RunRow.id, id_or_prefix, f"run in {self._place}"))
            return run_record(session, row)

    def runs(self) -> tuple[Run, ...]:
        """Every run, newest first."""
        query = select(s.RunRow, s.ProblemRow.name).join(s.ProblemRow, s.RunRow.problem == s.ProblemRow.digest)
        newest = query.order_by(s.RunRow.created.desc(), s.RunRow.sequence.desc())
        with self._reading() as session:
            return tuple(mapping.run_of(row, name) for row, name in session.execute(newest))

    def summaries(self) -> tuple[Summary, ...]:
        """Every run, newest first, with what became of its kernels."""
        runs = self.runs()
        with self._one_at_a_time, self._reading() as session:
            return self._summaries.of(session, runs)

    def latest_run(self) -> Run | None:
        """The run created last."""
        return next(iter(self.runs()), None)

    def rounds(self, run_id: str) -> tuple[Round, ...]:
        """The rounds that began, in order."""
        query = select(s.RoundRow).where(s.RoundRow.run == run_id).order_by(s.RoundRow.number)
        with self._reading() as session:
            return tuple(map(mapping.round_of, session.scalars(query)))

    def version(self, run_id: str) -> str:
        """A text that is another one once something about the run has changed, and is worked out from indices alone.

        It may also be another one after a verdict on a kernel of another run. Raises UsageError for an unknown run.
        """
        newest = (s.EvaluationRow.id, s.FindingRow.id, s.RemeasurementRow.id, s.FailedAskRow.id)
        counted = (s.KernelRow, s.IdeaRow, s.AnswerRow, s.DecisionRow)
        query = select(
            *(select(func.max(id)).scalar_subquery() for id in newest),
            *(select(func.count()).where(row.run == run_id).scalar_subquery() for row in counted),
            *(s.RunRow.state, s.RunRow.rounds, s.RunRow.stopped),
        )
        with self._reading() as session:
            row = session.execute(query.where(s.RunRow.id == run_id)).one_or_none()
            if row is None:
                raise UsageError(f"no run {run_id!r} in {self._place}; look at the list of runs")
            return digest(*row)[:12]

    # ── answers ─────────────────────────────────────────────────────────────────────────────────

    def answer(self, request_id: str) -> Answer | None:
        with self._reading() as session:
            row = session.get(s.AnswerRow, request_id)
            return None if row is None else mapping.answer_of(row)

    def exchange(self, request_id: str) -> tuple[Request, Answer] | None:
        """A question with its answer."""
        with self._reading() as session:
            row = session.get(s.AnswerRow, request_id)
            return None if row is None else _exchanges(session, [row])[0]

    def exchanges(self, request_ids: Collection[str]) -> dict[str, tuple[Request, Answer]]:
        """Those of these questions that have an answer, each with it; a few hundred at most."""
        query = select(s.AnswerRow).where(s.AnswerRow.id.in_(request_ids))
        with self._reading() as session:
            rows = session.scalars(query).all()
            return {row.id: exchange for row, exchange in zip(rows, _exchanges(session, rows), strict=True)}

    def answers(self, run_id: str) -> tuple[tuple[Request, Answer], ...]:
        """A run's answers by round, stage and ordinal, each with its request."""
        query = select(s.AnswerRow).where(s.AnswerRow.run == run_id)
        with self._reading() as session:
            return _exchanges(session, sorted(session.scalars(query), key=_within_run))

    def answered(self, run_id: str) -> tuple[tuple[Request, Answer], ...]:
        """The same with nothing in place of what was asked and said, which is long."""
        with self._reading() as session:
            rows = sorted(outlining.answers(session, run_id), key=_within_run)
            return tuple((mapping.request_of(row, ""), mapping.answer_of(row)) for row in rows)

    def authors(self, run_id: str) -> dict[str, Author]:
        """Who gave each of a run's answers, by the id of its question; those that nobody gave are left out."""
        with self._reading() as session:
            return outlining.authors(session, run_id)

    def questions(self, run_id: str) -> Questions:
        """Which of a run's questions have an answer, or turns on the way to one."""
        with self._reading() as session:
            return outlining.questions(session, run_id)

    def answers_for(self, problem_digest: str, language: str | None = None) -> tuple[tuple[Request, Answer], ...]:
        """Answers about a problem in all of its runs, or those in one language: the oldest run's first."""
        oldest = select(s.RunRow.id).order_by(s.RunRow.created, s.RunRow.sequence)
        about = select(s.AnswerRow).join(s.RunRow, s.AnswerRow.run == s.RunRow.id)
        about = about.where(s.AnswerRow.problem == problem_digest)
        if language is not None:
            about = about.where(s.RunRow.language == language)
        with self._reading() as session:
            place = {run: number for number, run in enumerate(session.scalars(oldest))}
            rows = sorted(session.scalars(about), key=lambda row: (place[row.run], *_within_run(row)))
            return _exchanges(session, rows)

    def failed_asks(self, run_id: str) -> tuple[FailedAsk, ...]:
        """Attempts that brought no answer, in the order they failed."""
        row = s.FailedAskRow
        query = select(row).where(row.run == run_id).order_by(row.created, row.id)
        with self._reading() as session:
            return tuple(map(mapping.failed_ask_of, session.scalars(query)))

    def turns(self, request_id: str) -> tuple[Turn, ...]:
        """What models said to a question before they answered it, each model's in order."""
        return self.turns_of([request_id]).get(request_id, ())

    def turns_of(self, request_ids: Collection[str]) -> dict[str, tuple[Turn, ...]]:
        """As `turns`, of those of these questions that have any; a few hundred at most."""
        query = select(s.TurnRow).where(s.TurnRow.request.in_(request_ids))
        found: dict[str, tuple[Turn, ...]] = {}
        with self._reading() as session:
            for row in session.scalars(query.order_by(s.TurnRow.model, s.TurnRow.number)):
                found[row.request] = (*found.get(row.request, ()), mapping.turn_of(row))
        return found

    def open_turns(self, run_id: str) -> tuple[Turn, ...]:
        """Turns of a run that no answer counts: they led to none of their model (yet), or to one of unknown cost."""
        query = select(s.TurnRow).where(s.TurnRow.run == run_id, ~bills.led_to_an_answer())
        with self._reading() as session:
            return tuple(map(mapping.turn_of, session.scalars(query.order_by(s.TurnRow.created))))

    def spend(self, run_id: str) -> Spending:
        """What a run's answers and failed attempts took, as far as it is known.

        An answer's price may be unknown. So may that of a failed attempt whose tokens are known; one without
        tokens was not billed as far as anybody said.
        """
        with self._reading() as session:
            return bills.total(session, run_id)

    def accounts(self, run_id: str) -> dict[str, Spending]:
        """The same by who answered, as told by `Author.name`; under an empty name what brought no answer."""
        with self._reading() as session:
            return bills.by_author(session, run_id)

    def bills(self, run_id: str) -> tuple[Bill, ...]:
        """What each of a run's answers and failed attempts cost, and when, in that order; counted as `spend` does."""
        with self._reading() as session:
            return bills.of_run(session, run_id)

    def answer_sizes(self, language: str = "") -> tuple[AnswerSize, ...]:
        """How long every answer is, and what it took; with a language, those of searches in it."""
        with self._reading() as session:
            return outlining.answer_sizes(session, language)

    def verdict_seconds(self, language: str = "") -> tuple[tuple[Status, float], ...]:
        """What became of every kernel that was judged, and how long that took; with a language, of those in it."""
        query = select(s.EvaluationRow.status, s.EvaluationRow.seconds)
        if language:
            query = query.join(s.KernelRow, s.KernelRow.id == s.EvaluationRow.kernel)
            query = query.where(s.KernelRow.language == language)
        with self._reading() as session:
            return tuple((Status(status), seconds) for status, seconds in session.execute(query))

    def search(self, wanted: str, limit: int) -> tuple[Hit, ...]:
        """The newest texts, at most `limit`, that hold `wanted`: ideas, code, and answers that say more than these.

        The case of ASCII letters does not matter.
        """
        with self._reading() as session:
            return searching.search(session, wanted, limit)

    # ── the lineage ─────────────────────────────────────────────────────────────────────────────

    def proposals(self, run_id: str, round: int | None = None) -> tuple[Proposal, ...]:
        """A run's proposals, of one round or of all, in order."""
        which = s.IdeaRow.run == run_id if round is None else (s.IdeaRow.run == run_id) & (s.IdeaRow.round == round)
        with self._reading() as session:
            return tuple(decisions.proposals(session, which, decisions.of_run(session, run_id)).values())

    def decisions(self, run_id: str) -> tuple[Decision, ...]:
        """What a person decided about ideas of a run, oldest first."""
        with self._reading() as session:
            return decisions.of_run(session, run_id)

    def kernel(self, id_or_prefix: str) -> tuple[Run, Kernel]:
        """The kernel whose id starts so, and its run. Raises UsageError, naming candidates, unless there is one."""
        with self._reading() as session:
            row = session.get_one(
                s.KernelRow, unique(session, s.KernelRow.id, id_or_prefix, f"kernel in {self._place}")
            )
            idea = session.get(s.IdeaRow, row.idea) if row.idea else None
            proposal = decisions.proposals_of(decisions.of_run(session, row.run))(idea) if idea else None
            return run_record(session, session.get_one(s.RunRow, row.run)), mapping.kernel_of(row, proposal)

    def evaluations(self, kernel_id: str) -> tuple[Evaluation, ...]:
        """All verdicts on a kernel, on every device, as they were given, oldest first."""
        query = select(s.EvaluationRow).where(s.EvaluationRow.kernel == kernel_id)
        with self._reading() as session:
            return tuple(map(verdicts.evaluation_of, session.scalars(query.order_by(*BY_AGE))))

    def findings(self, kernel_id: str) -> tuple[Finding, ...]:
        """What was found out about a kernel after its first verdict, oldest first."""
        query = select(s.FindingRow).where(s.FindingRow.kernel == kernel_id)
        with self._reading() as session:
            return tuple(map(findings.finding_of, session.scalars(query.order_by(*AS_FOUND))))

    def remeasurements(self, kernel_ids: Collection[str]) -> tuple[Remeasurement, ...]:
        """Later measurements of these kernels, oldest first."""
        query = select(s.RemeasurementRow).where(s.RemeasurementRow.kernel.in_(kernel_ids))
        with self._reading() as session:
            rows = session.scalars(query.order_by(s.RemeasurementRow.created, s.RemeasurementRow.id))
            return tuple(map(verdicts.remeasurement_of, rows))

    def comparisons(self, kernel_id: str) -> tuple[Comparison, ...]:
        """What a kernel was compared with, as the first or the second of the two, oldest first."""
        about = (s.ComparisonRow.first == kernel_id) | (s.ComparisonRow.second == kernel_id)
        query = select(s.ComparisonRow).where(about)
        with self._reading() as session:
            rows = session.scalars(query.order_by(s.ComparisonRow.created, s.ComparisonRow.id))
            return tuple(map(verdicts.comparison_of, rows))

    def entries(self, run_id: str) -> tuple[Entry, ...]:
        """A run's kernels by round and ordinal, each with the verdict that counts on the run's device.

        That is the newest one, unless something was found out since: such a kernel comes as a `Reviewed`, with a
        verdict of `suspect` or, while it is re-opened, without any.
        """
        with self._reading() as session:
            return whole.entries(session, run_id)

    def lineage(self, run_id: str) -> Lineage:
        """A run's kernels as in `entries`, with where they came from."""
        with self._reading() as session:
            found = whole.entries(session, run_id)
            there = {entry.id for entry in found}  # another process may have stored a kernel since
            return Lineage(found, [edge for edge in edges_of(session, run_id) if edge.child in there])

    def outline(self, run_id: str) -> Lineage:
        """The same kernels without what is long: sources, samples, what compilers said; read anew each time."""
        with self._reading() as session:
            return outlining.outline(session, run_id)

    def growing(self, run_id: str) -> Lineage:
        """The same as `lineage`, for whoever asks again and again: of kernels only what ranks them stays in memory.

        The rest is read when it is asked for, while the archive is open. Where nothing is new it is the same lineage
        as before, if this run was the last.
        """
        with self._one_at_a_time, self._reading() as session:
            if self._last.run != run_id:
                self._last = Growing(run_id, self._reading)
            return self._last.lineage(session)

    def edges(self, run_id: str) -> tuple[Edge, ...]:
        """Where a run's kernels came from; a parent may belong to another run."""
        with self._reading() as session:
            return tuple(edges_of(session, run_id, order=BY_CHILD))


def run_record(session: Session, row: s.RunRow) -> Run:
    return mapping.run_of(row, session.get_one(s.ProblemRow, row.problem).name)


def _within_run(row: s.AnswerRow) -> tuple[object, ...]:
    # The names of the stages sort as the stages follow one another.
    return row.round, row.stage, natural(row.ordinal), row.id


def _exchanges(session: Session, rows: Sequence[s.AnswerRow]) -> tuple[tuple[Request, Answer], ...]:
    asked = zip(rows, passages.prompts(session, rows), strict=True)
    return tuple((mapping.request_of(row, prompt), mapping.answer_of(row)) for row, prompt in asked)
