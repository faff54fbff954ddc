"""Judge the corpus: builds side by side, judgements one after another, one evaluator for each problem and language."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from treesearch import languages, problem
from treesearch.audit import machine, planting
from treesearch.audit.corpus import Case
from treesearch.audit.kept import Kept
from treesearch.audit.report import Report, Result
from treesearch.errors import MachineError
from treesearch.evaluation import device
from treesearch.evaluation.build import Built, builders
from treesearch.evaluation.checks import NONE, Check, Checks
from treesearch.evaluation.evaluator import Evaluator
from treesearch.evaluation.trial import Attempted
from treesearch.records import Protocol, Status

DEADLINE_SECONDS = 6.0
PATIENT_SECONDS = 20.0
"""For modules on a GPU: Triton compiles in their first call, which takes some seconds on a machine that never did."""
NOMINAL_CALLS = 4
REPEATS = 4

Group = tuple[Path, str, str]
"""Problem, language and kind of device."""


@dataclass(frozen=True)
class Moment:
    """Where an audit stands. `result` is what `case` got, or None where its turn has come."""

    case: Case
    result: Result | None
    done: int
    total: int


Observer = Callable[[Moment], None]


@dataclass
class _Progress:
    """Counts, and tells whoever wants to know."""

    observe: Observer
    total: int
    kept: Kept | None
    results: list[Result] = field(default_factory=list)

    def begin(self, case: Case) -> None:
        self.observe(Moment(case, None, len(self.results), self.total))

    def end(self, result: Result) -> None:
        self.results.append(result)
        if self.kept:
            self.kept.keep(result)
        self.observe(Moment(result.case, result, len(self.results), self.total))


def audit(
    cases: Sequence[Case],
    *,
    without: Checks = NONE,
    observe: Observer = lambda moment: None,
    output: Path | None = None,
) -> Report:
    """Judge every kernel that this machine can run, each against what its file expects.

    Ctrl-C ends it early, with what was found until then. Verdicts are stored in `output` alone, each at once; those of
    the same kernels by the same treesearch on the same device that it holds already are taken from there.

    Raises UsageError for an `output` that cannot be used.
    """
    started = time.monotonic()
    progress = _Progress(observe, len(cases), Kept(output, without) if output else None)
    notes: tuple[str, ...] = ()
    interrupted = False
    try:
        with planting.planted() as traps:
            notes = traps.notes
            _judge_all(cases, without, traps, progress)
    except KeyboardInterrupt:
        interrupted = True
    places = {case.path: place for place, case in enumerate(cases)}
    ordered = sorted(progress.results, key=lambda result: places[result.case.path])
    return Report(tuple(ordered), time.monotonic() - started, without, interrupted, notes, machine.sandbox())


def _judge_all(cases: Sequence[Case], without: Checks, traps: planting.Traps, progress: _Progress) -> None:
    groups: dict[Group, list[Case]] = {}
    for case in _left(cases, progress):
        groups.setdefault(_group(case), []).append(case)
    with builders() as pool:
        begun = [_begin(group, members, without, pool) for group, members in groups.items()]
        for started in begun:
            _finish(started, traps, progress)


def _left(cases: Sequence[Case], progress: _Progress) -> list[Case]:
    """Those that are to be judged: neither beyond this machine, nor judged before."""
    absences = {case.path: machine.absence(case) for case in cases}
    for case in cases:
        if absent := absences[case.path]:
            progress.end(Result(case, absent=absent))
    here = [case for case in cases if not absences[case.path]]
    before = progress.kept.results(here) if progress.kept else []
    for result in before:
        progress.end(result)
    known = {result.case.path for result in before}
    return [case for case in here if case.path not in known]


def _group(case: Case) -> Group:
    return case.problem, case.language, case.device


def _inspected(case: Case) -> bool:
    """Whether a sanitizer is to look at a kernel that is verified, as on a GPU it can."""
    return case.device == "cuda" and (not case.hostile or Check.SANITIZER in case.checks)


@dataclass(frozen=True)
class _Started:
    """A group whose kernels are being built; without an evaluator where it could not be set up, for `error`."""

    members: Sequence[Case]
    evaluator: Evaluator | None = None
    builds: dict[Future[Built], Case] = field(default_factory=dict)
    error: str = ""


def _begin(group: Group, members: Sequence[Case], without: Checks, pool: ThreadPoolExecutor) -> _Started:
    try:
        evaluator = _evaluator(group, without)
    except Exception as error:  # one problem or device that fails must not end the audit of the others
        return _Started(members, error=_sentence(error))
    return _Started(members, evaluator, {pool.submit(evaluator.build, case.source): case for case in members})


def _evaluator(group: Group, without: Checks) -> Evaluator:
    """One whose seed nobody could know when the corpus was read."""
    path, language, kind = group
    subject = problem.load(str(path))
    threads = device.cores() if kind == "cpu" else 1
    deadline = PATIENT_SECONDS if (language, kind) == ("module", "cuda") else DEADLINE_SECONDS
    protocol = Protocol(subject.tolerance, deadline, threads, NOMINAL_CALLS, REPEATS)
    return Evaluator(subject, languages.named(language), protocol, machine.hardware(kind), without=without)


def _finish(started: _Started, traps: planting.Traps, progress: _Progress) -> None:
    if started.evaluator is None:
        for case in started.members:
            progress.end(Result(case, error=started.error))
        return
    with started.evaluator as evaluator:
        for build in as_completed(started.builds):
            case = started.builds[build]
            progress.begin(case)
            progress.end(_judged(case, evaluator, build, traps))


def _judged(case: Case, evaluator: Evaluator, build: Future[Built], traps: planting.Traps) -> Result:
    started = time.monotonic()
    try:
        attempted, looks = _attempt(case, evaluator, build.result())
        verdict = evaluator.conclude(evaluator.inspect(attempted) if _inspected(case) else attempted)
    except Exception as error:  # a kernel that makes the controller fail is a finding, and not the end of the audit
        evaluator.close()  # the next one gets a bench that is known to be whole
        return Result(case, error=_sentence(error), seconds=time.monotonic() - started)
    return Result(case, verdict, traps.harm(), seconds=time.monotonic() - started, again=looks > 1)


def _attempt(case: Case, evaluator: Evaluator, built: Built) -> tuple[Attempted, int]:
    """What came of a kernel, and how many tries it took: as in a final measurement, one whose time is doubted has a
    second one on other inputs, since a machine that is busy for a while makes honest kernels suspect."""
    attempted = evaluator.attempt(built)
    if case.hostile or attempted.status is not Status.SUSPECT:
        return attempted, 1
    evaluator.redraw()
    return evaluator.attempt(built), 2


def _sentence(error: Exception) -> str:
    return str(error) if isinstance(error, MachineError) else f"{type(error).__name__}: {error}"
