"""What every step of a run works with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from threading import Lock
from typing import Protocol as Seam

from treesearch.archive import Archive, Questions
from treesearch.errors import AnswersExhausted, LimitReached, PromptTooLong, QuestionRefused, Waiting
from treesearch.evaluation.build import Built
from treesearch.events import Asking, Observer, silent
from treesearch.languages import Language
from treesearch.lineage import Lineage, Reviewed
from treesearch.meter import Meter, Ticket
from treesearch.models import Failure, OnFailure, Pool, Workbench
from treesearch.policies import Policy
from treesearch.prompts import SHIPPED, Inspiration, Templates
from treesearch.records import (
    Answer,
    Device,
    Entry,
    Evaluation,
    Idea,
    Problem,
    Protocol,
    Request,
    Run,
    Stage,
)

ASKERS = 256
"""Requests under way at once: more than one model takes, so that none waits for another's."""


def always(stage: Stage, parent: str, ordinal: str) -> bool:
    return True


def with_nothing(task: Task, request: Request, ticket: Ticket) -> None:
    return None


class Judge(Seam):
    """Gives verdicts: an `Evaluator` where the device is here, `Elsewhere` where it is not."""

    @property
    def protocol(self) -> Protocol: ...

    def redraw(self) -> None: ...

    @property
    def builds_here(self) -> bool:
        """Whether `build` says of a source if it builds; else its device's machine will."""

    def build(self, source: str) -> Built: ...

    def judge(self, built: Built, *, parent: Built | None = None, incumbent: float | None = None) -> Evaluation | None:
        """None where the verdict must come from elsewhere."""

    def no_code(self) -> Evaluation: ...

    def remeasure(self, sources: Sequence[str]) -> Iterator[Evaluation]:
        """Evaluations of kernels that won, one each and in order, from fresh processes and fresh inputs."""

    def close(self) -> None:
        """Give back what judging takes; it is taken again when needed."""


class Asked:
    """Which questions of a run the archive knows, so that it need not be asked about each new one.

    No process but the run's own adds to them: there is one at a time.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: Questions | None = None

    def has_answer(self, task: Task, request: Request) -> bool:
        return request.id in self._of(task).answered

    def has_turns(self, task: Task, request: Request) -> bool:
        """Whether a model said something on the way to an answer."""
        return request.id in self._of(task).begun

    def rounds(self, task: Task, parent: str) -> set[int]:
        """Those that have an answer to a question for ideas about a parent, by its digest."""
        return {number for number, about in self._of(task).ideas if about == parent}

    def add(self, task: Task, request: Request) -> None:
        """It has an answer now."""
        known = self._of(task)
        with self._lock:
            known.answered.add(request.id)
            if request.stage is Stage.IDEAS:
                known.ideas.append((request.round, request.parent))

    def begin(self, task: Task, request: Request) -> None:
        """It has a turn on the way to an answer now."""
        known = self._of(task)
        with self._lock:
            known.begun.add(request.id)

    def _of(self, task: Task) -> Questions:
        with self._lock:
            if self._known is None:
                self._known = task.archive.questions(task.run.id)
            return self._known


@dataclass(frozen=True)
class Task:
    """A run with everything it needs: the problem, the models, the evaluator, the archive."""

    run: Run
    problem: Problem
    language: Language
    device: Device
    models: Pool
    policy: Policy
    archive: Archive
    evaluator: Judge
    can_answer: Callable[[Stage, str, str], bool] = always
    """Whether the models have an answer about a parent (a digest): recorded archives end somewhere."""
    replays: bool = False
    """Whether all answers come from recordings."""
    observe: Observer = silent
    templates: Templates = SHIPPED
    bank: tuple[Inspiration, ...] = ()
    meter: Meter = field(default_factory=Meter)
    """Admits questions; without a budget, all of them."""
    asked: Asked = field(default_factory=Asked)

    def lineage(self) -> Lineage:
        """As `Archive.growing` has it: a search of any length holds little of each kernel."""
        return self.archive.growing(self.run.id)

    def request(self, number: int, stage: Stage, parent: str, ordinal: str, prompt: str) -> Request:
        made_from = self.templates.digest
        return Request(self.run.id, number, stage, self.problem.digest, parent, ordinal, prompt, made_from)

    def ask(self, request: Request, turn: int, shorter: Iterable[str] = (), equip: Equip = with_nothing) -> Answer:
        """The stored answer to a request, asked for first where there is none yet.

        `shorter` has other prompts for the same, in turn for models that the one before is too long for; what is stored
        is the one that was answered. A question that nobody will ever answer is stored as well, with the reason, so
        that a run does not stop at it each time. The first time and every later one see the same text, that of the
        store. `equip` makes what a model that can call tools has at hand.

        Raises LimitReached where the budget does not allow to ask.
        """
        if self.asked.has_answer(self, request) and (stored := self.archive.answer(request.id)):
            return stored
        with self.meter.asking(request) as ticket:
            workbench = equip(self, request, ticket)
            put, answer = self._asked(request, turn, iter(shorter), workbench)
            answer = ticket.priced(answer)
            if self.asked.has_turns(self, put):
                answer = self._whole(put, answer)
            stored = self.archive.save_answer(put, answer)
        self.asked.add(self, put)
        return stored

    def _whole(self, request: Request, answer: Answer) -> Answer:
        """The answer with what its model took on the way to it."""
        turns = [] if answer.failure else [one for one in self.archive.turns(request.id) if one.model == answer.model]
        return reduce(Answer.after, turns, answer)

    def _asked(
        self, request: Request, turn: int, shorter: Iterator[str], workbench: Workbench | None
    ) -> tuple[Request, Answer]:
        """A question as it was put in the end, and what came of it.

        One that is as long as another that was too long is put with less at once. Its least form is always put, since
        a length says only roughly how many tokens a prompt has.
        """
        if self.models.is_too_long(request) and (prompt := next(shorter, "")):
            return self._asked(replace(request, prompt=prompt), turn, shorter, workbench)
        try:
            return self.models.ask(request, turn, workbench)
        except QuestionRefused as refused:
            if isinstance(refused, PromptTooLong) and (prompt := next(shorter, "")):
                return self._asked(replace(request, prompt=prompt), turn, shorter, workbench)
            return request, Answer("", self.models.whose(request, turn).name, failure=str(refused))

    def next_ask(self, parent: str, number: int) -> str:
        """How often rounds before `number` asked for ideas about this source: the ordinal of the next request."""
        return str(sum(earlier < number for earlier in self.asked.rounds(self, parent)))

    def implementable(self, parent: Entry, idea: Idea) -> bool:
        """Whether the models can be asked for a kernel of this idea."""
        variants = range(self.run.config.implementations)
        asks = (f"{idea.name}.{variant}" for variant in variants)
        return any(self.can_answer(Stage.KERNEL, parent.kernel.digest, ask) for ask in asks)

    def save(self, entry: Entry, evaluation: Evaluation) -> Entry:
        """Store the verdict that a kernel was due; returns the kernel with it."""
        self.archive.save_evaluation(entry.id, evaluation, due_ordinal(entry))
        return Entry(entry.kernel, evaluation)

    def any_verified(self) -> bool:
        return self.lineage().fastest() is not None

    def tally(self) -> str:
        """How many kernels ended how."""
        statuses = Counter(entry.status for entry in self.lineage().entries if entry.status)
        return ", ".join(f"{count} {status}" for status, count in statuses.most_common()) or "there were no kernels"


Equip = Callable[[Task, Request, Ticket], Workbench | None]
"""Makes what a model that can call tools has at hand for one question; nothing for a question without any."""


def failures_kept(archive: Archive, model: str, observe: Observer) -> OnFailure:
    """Stores every failed attempt to ask a model, with what it said and cost all the same, and tells of it."""

    def keep(request: Request, failure: Failure) -> None:
        said = failure.said or Answer("", model)
        archive.save_failed_ask(request, model, str(failure), text=said.text, usage=said.usage)
        observe(Asking(request, str(failure)))

    return keep


def due_ordinal(entry: Entry) -> int:
    """Which verdict a kernel is due: its first, unless it is re-opened."""
    return 1 + (entry.judgements if isinstance(entry, Reviewed) else 0)


@contextmanager
def asking(threads: int = ASKERS) -> Iterator[ThreadPoolExecutor]:
    """Threads for asking and building; an exception does not wait for what they still do."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="treesearch")
    try:
        yield pool
    except BaseException:  # Ctrl-C above all: what is under way must not hold it up
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def raise_gravest(failures: Sequence[BaseException]) -> None:
    """Raise what stops the run: a failure first, else one Waiting for all that is due from outside, else a limit.

    An answer that a recorded archive lacks stops nothing.
    """
    for failure in failures:
        if not isinstance(failure, Waiting | AnswersExhausted | LimitReached):
            raise failure
    pending = [line for failure in failures if isinstance(failure, Waiting) for line in failure.pending]
    if pending:
        due = f"{len(pending)} answer{'s are' if len(pending) > 1 else ' is'} due."
        raise Waiting(f"{due} Run the same command again when they are there.", pending)
    for failure in failures:
        if isinstance(failure, LimitReached):
            raise failure
