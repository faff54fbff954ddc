"""Turn proposals into kernels and kernels into verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from functools import partial
from queue import SimpleQueue

from treesearch import answers, prompts
from treesearch.errors import AnswersExhausted, LimitReached, ModelUnavailable, NoUsableAnswer, Waiting
from treesearch.evaluation.build import Built
from treesearch.events import Judged, Moved, Step
from treesearch.records import Edge, Entry, Evaluation, Idea, Kernel, Proposal, Relation, Request, Stage, Status
from treesearch.steps.dispatch import dispatch
from treesearch.steps.equip import equip
from treesearch.steps.task import Task, asking, raise_gravest

REPAIRABLE = (
    Status.NO_CODE,
    Status.BUILD_FAILED,
    Status.CRASHED,
    Status.TIMED_OUT,
    Status.BROKE_CONTRACT,
    Status.WRONG,
)


UNANSWERED = {Waiting: Step.DUE, AnswersExhausted: Step.MISSED, LimitReached: Step.LEFT_OUT}
"""Where a slot is whose question has no answer now, by what said so."""


@dataclass(frozen=True)
class Slot:
    """A place in a round where one kernel belongs: one variant of an idea, or its n-th repair."""

    base: str
    """`proposal.variant`; with the repair's number it makes the kernel's ordinal."""
    variant: int
    variants: int
    parent: Entry | None = None
    proposal: Proposal | None = None
    failed: Entry | None = None
    """The kernel to repair, in a repair's slot."""
    repair: int = 0

    @property
    def ordinal(self) -> str:
        return f"{self.base}r{self.repair}" if self.repair else self.base

    @property
    def idea(self) -> Idea | None:
        return self.proposal.idea if self.proposal else None


@dataclass(frozen=True)
class Candidate:
    """A slot's kernel on its way to a verdict; without a build where it has no source, or a verdict already."""

    slot: Slot
    entry: Entry
    built: Built | None = None
    parent: Built | None = None
    """What it, or the kernel that it repairs, refines."""


class Work:
    """Slots whose kernels are asked for and built, to be iterated over as they are ready."""

    def __init__(self, pool: Executor, prepare: Callable[[Slot], Candidate]) -> None:
        self._pool, self._prepare = pool, prepare
        self._due: set[Future[Candidate]] = set()
        self._done: SimpleQueue[Future[Candidate]] = SimpleQueue()

    def begin(self, slots: Iterable[Slot]) -> None:
        for slot in slots:
            future = self._pool.submit(self._prepare, slot)
            self._due.add(future)
            future.add_done_callback(self._done.put)

    def cancel(self) -> None:
        """Leave out all that has not begun."""
        self._due = {future for future in self._due if not future.cancel()}

    def __iter__(self) -> Iterator[Future[Candidate]]:
        while self._due:
            future = self._done.get()
            if future in self._due:
                self._due.remove(future)
                yield future


def attempt(task: Task, number: int, proposals: Sequence[Proposal]) -> None:
    """Fill the round's slots: answers and builds in parallel, verdicts one after another as they come.

    Kernels that another machine must judge are sent there together, once nothing else is due.
    """
    lineage = task.lineage()
    known = {entry.id: entry for entry in lineage.entries if entry.round == number}
    incumbent = _fastest(*lineage.verified()[:1])
    task.evaluator.redraw()
    failures: list[BaseException] = []
    away: set[str] = set()
    with asking() as pool:
        work = Work(pool, partial(_prepare, task, number, known=known))
        work.begin(slot for slot in _slots(task, number, proposals) if _is_open(task, number, slot, known))
        for future in work:
            error = future.exception()
            if isinstance(error, Waiting | AnswersExhausted | LimitReached | ModelUnavailable):
                failures.append(error)
                if isinstance(error, ModelUnavailable):
                    work.cancel()
                continue
            candidate = future.result()
            entry = _judge(task, candidate, incumbent)
            incumbent = _fastest(entry, than=incumbent)
            if entry.status is None:
                away.add(entry.id)
            elif repair := _repair(task, number, candidate.slot, entry, known):
                work.begin([repair])
    raise_gravest([failure for failure in failures if not isinstance(failure, LimitReached)])
    if away:
        raise dispatch(task, f"r{number}", away)
    raise_gravest(failures)
    _stop_if_useless(task, number)


def _slots(task: Task, number: int, proposals: Sequence[Proposal]) -> list[Slot]:
    """One slot for each implementation of each kept proposal; without proposals, a beam of first kernels."""
    if not proposals:
        if _has_parents(task, number):  # none of them stands any more
            return []
        return [Slot(f"0.{variant}", variant, task.run.config.beam) for variant in range(task.run.config.beam)]
    lineage, count = task.lineage(), task.run.config.implementations
    return [
        Slot(f"{proposal.ordinal}.{variant}", variant, count, lineage.entry(proposal.parent), proposal)
        for proposal in proposals
        if not proposal.dropped
        for variant in range(count)
    ]


def _has_parents(task: Task, number: int) -> bool:
    return any(one.parents for one in task.archive.rounds(task.run.id) if one.number == number)


def _is_open(task: Task, number: int, slot: Slot, known: Mapping[str, Entry]) -> bool:
    """Whether a slot may have a kernel: no model is asked to build upon one whose verdict no longer counts."""
    return slot.parent is None or slot.parent.verified or _kernel(task, number, slot).id in known


def _kernel(task: Task, number: int, slot: Slot) -> Kernel:
    """A slot's kernel before there is any code."""
    return Kernel(task.run.id, number, slot.ordinal, task.language.name, None, "", slot.proposal)


def _prepare(task: Task, number: int, slot: Slot, known: Mapping[str, Entry]) -> Candidate:
    """A slot's kernel, asked for and built; whatever the archive already holds is taken from there."""
    kernel = _kernel(task, number, slot)
    entry = known.get(kernel.id) or Entry(_implement(task, kernel, slot))
    if entry.status or entry.kernel.source is None:
        return Candidate(slot, entry)
    task.observe(Moved(number, slot.ordinal, Step.BUILDING))
    built = task.evaluator.build(entry.kernel.source)
    above = slot.parent.kernel.source if slot.parent else None
    parent = task.evaluator.build(above) if above and built.library else None
    task.observe(Moved(number, slot.ordinal, Step.QUEUED))
    return Candidate(slot, entry, built, parent)


def _implement(task: Task, kernel: Kernel, slot: Slot) -> Kernel:
    """Ask for a slot's code, and store the kernel with where it came from."""
    render = _render(task, slot)
    request = _request(task, kernel.round, slot, render())
    place = kernel.round + (slot.proposal.ordinal if slot.proposal else 0) + slot.variant
    task.observe(Moved(kernel.round, slot.ordinal, Step.ASKED))
    try:
        answer = task.ask(request, place, prompts.shorter(render), equip)
    except (Waiting, AnswersExhausted, LimitReached) as missing:
        task.observe(Moved(kernel.round, slot.ordinal, UNANSWERED[type(missing)]))
        raise
    kernel = replace(
        kernel, source=answers.code(answer.text, task.language.fences, task.language.entry), answer=request.id
    )
    task.archive.save_kernel(kernel, _edges(task, kernel, slot))
    return kernel


def _render(task: Task, slot: Slot) -> Callable[..., str]:
    """What makes the prompt for a slot's code, of any extent."""
    about = task.problem, task.language, task.device
    if slot.failed is not None:
        return partial(prompts.repair, *about, slot.failed, slot.idea, templates=task.templates)
    return partial(
        prompts.kernel,
        *about,
        parent=slot.parent,
        idea=slot.idea,
        variant=slot.variant,
        variants=slot.variants,
        bank=task.bank,
        templates=task.templates,
    )


def _request(task: Task, number: int, slot: Slot, prompt: str) -> Request:
    """The request for a slot's code."""
    name = slot.idea.name if slot.idea else f"seed{number}"
    if slot.failed is not None:
        ordinal = f"{name}.{slot.variant}r{slot.repair}"
        return task.request(number, Stage.REPAIR, slot.failed.kernel.digest, ordinal, prompt)
    parent = slot.parent.kernel.digest if slot.parent else ""
    return task.request(number, Stage.KERNEL, parent, f"{name}.{slot.variant}", prompt)


def _edges(task: Task, kernel: Kernel, slot: Slot) -> tuple[Edge, ...]:
    """Where a kernel came from: what it repairs, or what it refines and the kernels that a person had it shown."""
    if slot.failed is not None:
        return (Edge(slot.failed.kernel.id, kernel.id, Relation.REPAIRS),)
    if slot.parent is None:
        return ()
    shown = _shown(task, kernel) - {slot.parent.kernel.id}
    inspired = (Edge(id, kernel.id, Relation.INSPIRED_BY) for id in sorted(shown))
    return (Edge(slot.parent.kernel.id, kernel.id, Relation.REFINES), *inspired)


def _shown(task: Task, kernel: Kernel) -> set[str]:
    """Those kernels that a person named which the answered prompt quotes: one that was shortened has none of them."""
    asked = [one for one in task.bank if one.asked]
    exchange = task.archive.exchange(kernel.answer) if asked else None
    return {one.entry.kernel.id for one in asked if exchange and prompts.quotes(exchange[0].prompt, one.source)}


def _fastest(*entries: Entry, than: float | None = None) -> float | None:
    """Milliseconds of the fastest verified kernel, or those given if none is faster."""
    times = [entry.milliseconds for entry in entries if entry.verified]
    return min((time for time in (*times, than) if time is not None), default=None)


def _judge(task: Task, candidate: Candidate, incumbent: float | None) -> Entry:
    """The candidate with its verdict, which is stored before anything follows from it; without one, if its device is
    elsewhere."""
    entry = candidate.entry
    fresh = entry.status is None
    if fresh:
        task.observe(Moved(entry.kernel.round, entry.kernel.ordinal, Step.JUDGING))
        evaluation = _verdict(task, candidate, incumbent)
        if evaluation is None:
            task.observe(Moved(entry.kernel.round, entry.kernel.ordinal, Step.ELSEWHERE))
            return entry
        entry = task.save(entry, evaluation)
    task.observe(Judged(entry, fresh))
    return entry


def _verdict(task: Task, candidate: Candidate, incumbent: float | None) -> Evaluation | None:
    if candidate.built is None:
        failure = _failure(task, candidate.entry)
        verdict = task.evaluator.no_code()
        return replace(verdict, error=f"no answer: {failure}") if failure else verdict
    return task.evaluator.judge(candidate.built, parent=candidate.parent, incumbent=incumbent)


def _failure(task: Task, entry: Entry) -> str:
    """Why a kernel's question has no answer; empty where it has one."""
    answer = task.archive.answer(entry.kernel.answer)
    return answer.failure if answer else ""


def _repair(task: Task, number: int, slot: Slot, entry: Entry, known: Mapping[str, Entry]) -> Slot | None:
    """The slot that follows a failure, while the configuration allows another repair."""
    if entry.status not in REPAIRABLE or slot.repair >= task.run.config.repairs:
        return None
    if _failure(task, entry):  # there is nothing to repair, and models have said what they say to this
        return None
    repair = replace(slot, failed=entry, repair=slot.repair + 1)
    return repair if _is_open(task, number, repair, known) else None


def _stop_if_useless(task: Task, number: int) -> None:
    """A model that never writes code would only go on costing money."""
    statuses = [entry.status for entry in task.lineage().entries if entry.status]
    if statuses and set(statuses) == {Status.NO_CODE}:
        refused = [answer.failure for _, answer in task.archive.answered(task.run.id) if answer.failure]
        if len(refused) == len(statuses):
            raise NoUsableAnswer(f"Not one question was answered, the last one since {refused[-1]}; try another model.")
        raise NoUsableAnswer(
            f"Not one of {len(statuses)} answers up to round {number} held a code block with "
            f"{task.language.entry.name}; try another model, or read an answer with `treesearch show KERNEL --answer`."
        )
