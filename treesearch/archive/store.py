"""The archive: `Reader` and everything that writes, one transaction per call.

Writing is idempotent: saving what is there already changes nothing, and what was saved first stays. A row whose
`created` is empty gets the time of writing. Text is stored with NUL characters and lone surrogates as U+FFFD, so read
an answer back before deriving anything from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from treesearch.archive import decisions, mapping, passages, verdicts
from treesearch.archive import schema as s
from treesearch.archive.bills import Bill
from treesearch.archive.connect import seal_file, writing
from treesearch.archive.findings import Finding, Kind
from treesearch.archive.inserting import cleaned, complete, insert_new, overwrite
from treesearch.archive.mapping import AnswerSize, Author, FailedAsk
from treesearch.archive.merging import copy_run
from treesearch.archive.outlining import Questions
from treesearch.archive.reading import Reader, run_record
from treesearch.archive.renewing import add_evaluation, add_finding
from treesearch.archive.searching import Hit
from treesearch.archive.summaries import Summary
from treesearch.archive.trouble import translated
from treesearch.errors import UsageError
from treesearch.records import (
    Answer,
    Comparison,
    Config,
    Decision,
    Device,
    Edge,
    Evaluation,
    Kernel,
    Problem,
    Proposal,
    Remeasurement,
    Request,
    Round,
    Run,
    RunState,
    Turn,
    Usage,
)

__all__ = ["AnswerSize", "Archive", "Author", "Bill", "FailedAsk", "Finding", "Hit", "Kind", "Questions", "Summary"]

UNKNOWN = Usage()


class Archive(Reader):
    """Every problem, run, answer, kernel and evaluation, in a file or on a server.

    `url` is a path (SQLite) or a URL (`sqlite:///PATH`, `postgresql://…`). Opening creates the folder and the tables,
    or brings older tables up to date. With `read_only` nothing is created or changed, and a file is left exactly as it
    is, with nothing beside it. Every method may be called from any thread; other processes may use the archive too.

    Every method raises ArchiveError when the database is locked, full, damaged, read-only or out of reach.
    """

    @cached_property
    def _writes(self) -> Engine:
        return writing(self._engine)

    @contextmanager
    def _writing(self) -> Iterator[Session]:
        session = Session(self._writes)
        with self._one_writer, translated(str(self._place)), session, session.begin():
            yield session

    def _insert(self, *rows: s.Base) -> None:
        with self._writing() as session:
            insert_new(session, rows)

    # ── runs ────────────────────────────────────────────────────────────────────────────────────

    def open_run(self, problem: Problem, config: Config, device: Device, *, new: bool = False) -> Run:
        """The latest run of this problem, configuration and device, or a new one if there is none or `new` is set.

        A run that goes on takes over `config.rounds`, budget and prices, and is RUNNING again if those are more rounds
        than before, or where it was STOPPED.
        """
        with self._writing() as session:
            # Replacing the problem's row also makes processes that open the same run wait for each other.
            overwrite(session, mapping.problem_row(problem))
            complete(session, mapping.device_row(device))
            row = _latest_alike(session, problem, config, device)
            if row is None or new:
                row = mapping.run_row(problem.digest, config, device.id, row.sequence + 1 if row else 1)
                session.add(row)
            else:
                _continue(row, config)
            session.flush()
            return run_record(session, row)

    def finish(self, run_id: str, rounds: int, stopped: str = "") -> None:
        """The run is done, after `rounds` rounds, or as many as have begun if those are more, or `stopped` at a limit.

        Raises UsageError if there is no such run.
        """
        with self._writing() as session:
            row = session.get(s.RunRow, run_id)
            if row is None:
                raise UsageError(f"no run {run_id!r} in {self._place}; look at the list of runs")
            begun = session.scalar(select(func.max(s.RoundRow.number)).where(s.RoundRow.run == run_id))
            row.state, row.stopped = RunState.STOPPED if stopped else RunState.DONE, stopped
            row.rounds = max(rounds, begun or 0)

    def save_device(self, device: Device) -> None:
        """Store a device, or add the figures that a stored one lacks; those once stored stay."""
        with self._writing() as session:
            complete(session, mapping.device_row(device))

    def save_round(self, round: Round) -> None:
        self._insert(mapping.round_row(round))

    # ── answers ─────────────────────────────────────────────────────────────────────────────────

    def save_answer(self, request: Request, answer: Answer) -> Answer:
        """Store an answer, and return it as stored; where the request has one already, that one."""
        row = mapping.answer_row(request, answer)
        with self._writing() as session:
            if insert_new(session, [row]):
                passages.keep(session, [request.prompt])
                return mapping.answer_of(cleaned(row))
            return mapping.answer_of(session.get_one(s.AnswerRow, request.id))

    def save_failed_ask(
        self, request: Request, model: str, error: str, *, text: str = "", usage: Usage = UNKNOWN
    ) -> None:
        """Store one attempt that brought no answer, with what the model said all the same and what that cost; every
        call is an attempt of its own."""
        self._insert(mapping.failed_ask_row(request, model, error, text, usage))

    def save_turn(self, request: Request, turn: Turn) -> None:
        """Store what a model said on the way to its answer, before the next call is made."""
        self._insert(mapping.turn_row(request, turn))

    # ── the lineage ─────────────────────────────────────────────────────────────────────────────

    def save_decision(self, decision: Decision) -> Decision:
        """Store what a person decided about an idea, and return it as stored."""
        stored = replace(decision, created=decision.created or mapping.now())
        self._insert(decisions.decision_row(stored))
        return stored

    def save_proposals(self, proposals: Sequence[Proposal]) -> None:
        """Store all or none. The answers they came from must be stored."""
        self._insert(*map(mapping.idea_row, proposals))

    def save_kernel(self, kernel: Kernel, edges: Sequence[Edge] = ()) -> None:
        """Store a kernel and where it came from, all or nothing. Its answer and proposal must be stored."""
        self._insert(mapping.kernel_row(kernel), *map(mapping.edge_row, edges))

    def save_evaluation(self, kernel_id: str, evaluation: Evaluation, ordinal: int = 1) -> bool:
        """Store a verdict, the kernel's `ordinal`-th on that device; returns whether it is new.

        Kernel and device must be stored. There is one per device, protocol and ordinal, and the first stays; only a
        verdict of `suspect` that differs from those held is kept beside them. Any such verdict after the first
        is a finding as well, which re-opens what came from the kernel.
        """
        with self._writing() as session:
            return add_evaluation(session, verdicts.evaluation_row(kernel_id, evaluation, ordinal))

    def save_finding(self, finding: Finding) -> None:
        """Store what was found out about a kernel, which must be stored."""
        with self._writing() as session:
            add_finding(session, finding)

    def save_remeasurement(self, measured: Remeasurement) -> None:
        """Store a later measurement of a kernel, which must be stored, as its device must be."""
        self._insert(verdicts.remeasurement_row(measured))

    def save_comparison(self, compared: Comparison) -> None:
        """Store which of two kernels is faster; the first, and the device, must be stored."""
        self._insert(verdicts.comparison_row(compared))

    # ── publishing ──────────────────────────────────────────────────────────────────────────────

    def seal(self) -> None:
        """Make a file ready to be shipped: without write-ahead log or free pages, so that one file is all of it.

        Nothing else may have the archive open. On a server there is nothing to do.
        """
        if self._place.path is None:
            return
        with translated(str(self._place)):
            self._engine.dispose()
            seal_file(self._place.path)

    def merge(self, source: Reader, run_id: str) -> None:
        """Copy one run with all of its rows from another archive; again, to add what it has gained since.

        Raises UsageError if the source has no such run, or if this archive holds another run of the same id (ids are
        functions of problem, configuration, device and sequence, so two fresh archives can agree on one).
        """
        with source._reading() as theirs, self._writing() as ours:
            copy_run(theirs, ours, run_id)


def _latest_alike(session: Session, problem: Problem, config: Config, device: Device) -> s.RunRow | None:
    alike = select(s.RunRow).where(
        s.RunRow.problem == problem.digest, s.RunRow.identity == config.identity, s.RunRow.device == device.id
    )
    return session.scalars(alike.order_by(s.RunRow.sequence.desc()).limit(1)).first()


def _continue(row: s.RunRow, config: Config) -> None:
    if config.rounds > row.rounds or row.state == RunState.STOPPED:
        row.state, row.stopped = RunState.RUNNING, ""
    row.rounds = max(row.rounds, config.rounds)
    row.budget, row.prices = mapping.budget_json(config), mapping.prices_json(config)
