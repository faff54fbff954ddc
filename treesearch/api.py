"""The library's front door: name a problem and models, get a search or verdicts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from treesearch import languages, loop, models, plan, policies, problem, resources
from treesearch.archive import Archive
from treesearch.errors import UsageError, Waiting
from treesearch.evaluation import bundle, cache
from treesearch.evaluation.bundle import Bundle, Due
from treesearch.evaluation.device import cores
from treesearch.evaluation.elsewhere import Elsewhere
from treesearch.evaluation.evaluator import Evaluator
from treesearch.evaluation.target import AUTO, HERE, Here, Target
from treesearch.events import BudgetUsed, Observer, Preparing, Replaying, RunOpened, silent
from treesearch.forecast import Estimate, Prompted, forecast
from treesearch.lineage import Lineage
from treesearch.meter import Meter
from treesearch.models import Model, ModelOptions, Pool, ReplayModel
from treesearch.plan import default_archive
from treesearch.policies import Policy
from treesearch.prompts import SHIPPED as SHIPPED_PROMPTS
from treesearch.prompts import Templates, overridden
from treesearch.records import (
    Budget,
    Config,
    Entry,
    Evaluation,
    Price,
    Problem,
    Run,
    Sampling,
    Stage,
)
from treesearch.steps import bank, recorded
from treesearch.steps.absorb import Absorbed
from treesearch.steps.absorb import absorb as take_in
from treesearch.steps.task import Judge, Task, always, asking, failures_kept

DEFAULT_SAMPLING = Sampling()
DEFAULT_OPTIONS = ModelOptions()
NO_LIMITS = Budget()


@dataclass(frozen=True)
class Result:
    """A finished search."""

    run: Run
    lineage: Lineage

    @property
    def winner(self) -> Entry:
        fastest = self.lineage.fastest()
        assert fastest is not None, "a search without a verified kernel raises instead of returning"
        return fastest


def search(
    name: str | os.PathLike[str],
    *,
    models: Sequence[str] = (),
    idea_models: Sequence[str] = (),
    code_models: Sequence[str] = (),
    rounds: int | None = None,
    ideas: int | None = None,
    implementations: int | None = None,
    beam: int | None = None,
    repairs: int | None = None,
    policy: str | Policy = "diverse",
    language: str = AUTO,
    device: str = AUTO,
    deadline_seconds: float = 20.0,
    sampling: Sampling = DEFAULT_SAMPLING,
    options: ModelOptions = DEFAULT_OPTIONS,
    prompts: str | os.PathLike[str] | None = None,
    inspire: Sequence[str] = (),
    budget: Budget = NO_LIMITS,
    prices: Sequence[Price] = (),
    archive: Archive | str | os.PathLike[str] | None = None,
    new: bool = False,
    observe: Observer = silent,
    here: Here = HERE,
    evaluator: Judge | None = None,
) -> Result:
    """Search for a faster kernel; the same call continues a search that was interrupted.

    `name` is a shipped problem's name or the path of a KernelBench-format file; `models` are model strings
    (`openai/…`, `file/DIR`, `cmd/COMMAND`, `replay/ARCHIVE`), by default that of the first provider whose key is set,
    else the shipped record's answers; `idea_models` and `code_models` are asked for ideas or kernels in their place.
    One that ends in a weight, as `openai/gpt-5.6=2` does, has as many turns. `archive` is a store or its URL, by
    default the working archive. Counts left at None are 5 rounds, 8 ideas, 3 implementations, a beam of 4, one repair.
    A policy of your own is a function from a lineage and a beam to kernel ids. `new` starts afresh instead of
    continuing. Deadlines are seconds.
    `prompts` is a folder of templates that take the place of their shipped namesakes; `inspire` are ids of kernels, of
    any problem, that models are shown.

    At a limit of `budget` nothing more is asked; what is in flight is kept, and `run.stopped` of the result says why.
    The same call with a larger budget goes on. `prices` are those of models whose price litellm does not know, or does
    not know rightly; a budget in dollars needs the price of every model.

    `device` is this machine's by default, else the id or a part of the name of one that an archive knows, or the path
    of a description. Where that is another machine's, every round raises Waiting with the bundle that is to be judged
    there (`treesearch work`), whose results `absorb` takes. `here` says what this machine has, if not what is found. An
    `evaluator` judges in place of the device's own, such as `treesearch.testing.ScriptedEvaluator`.

    Raises the exceptions of `treesearch.errors`.
    """
    made = plan.plan(
        name,
        models=models,
        idea_models=idea_models,
        code_models=code_models,
        language=language,
        device=device,
        archive=archive,
        here=here,
        rounds=rounds,
        ideas=ideas,
        implementations=implementations,
        beam=beam,
        repairs=repairs,
        policy=policy if isinstance(policy, str) else getattr(policy, "__name__", "custom"),
        deadline_seconds=deadline_seconds,
        sampling=sampling,
        budget=budget,
        prices=tuple(prices),
    )
    subject, goal, config = made.problem, made.goal, made.config
    function = policies.named(policy) if isinstance(policy, str) else policy
    with _store(archive) as store, _opened(made.models, config, subject, options, store, observe) as opened:
        banked = bank.inspirations(store, subject, goal.language, inspire)
        run = store.open_run(subject, config, goal.device, new=new)
        with (
            cache.alone(f"{store.url} {run.id}", f"Run {run.id} is already going on in another process."),
            closing(evaluator or _judge(subject, goal, deadline_seconds, observe, config.beam)) as judge,
        ):
            observe(RunOpened(run, store.growing(run.id).entries))
            task = _task(replace(run, config=config), subject, goal, opened, function, store, judge, observe)
            with closing(_meter(task, made.listed)) as meter:
                loop.search(replace(task, templates=_templates(prompts), bank=banked, meter=meter))
        return Result(store.run(run.id), store.lineage(run.id))


def estimate(
    name: str | os.PathLike[str],
    *,
    options: ModelOptions = DEFAULT_OPTIONS,
    prompts: str | os.PathLike[str] | None = None,
    inspire: Sequence[str] = (),
    archive: Archive | str | os.PathLike[str] | None = None,
    here: Here = HERE,
    **settings: Any,
) -> Estimate:
    """What `search` would take with the same settings: questions, tokens, dollars, minutes. Asks and stores nothing.

    Prompts are rendered; answers are taken to be as long as those that the archive and the shipped record hold.
    """
    made = plan.plan(name, archive=archive, here=here, **settings)
    with ExitStack() as stack:
        stores = [stack.enter_context(Archive(resources.record(), read_only=True))]
        if plan.exists(archive):
            stores.insert(0, stack.enter_context(_store(archive)))
        banked = bank.inspirations(stores[0], made.problem, made.goal.language, inspire)
        return forecast(made, stores, Prompted(_templates(prompts), banked))


def evaluate(
    name: str | os.PathLike[str],
    files: Sequence[str | os.PathLike[str]],
    *,
    device: str = AUTO,
    deadline_seconds: float = 20.0,
    archive: Archive | str | os.PathLike[str] | None = None,
    observe: Observer = silent,
    judged: Callable[[Path, Evaluation], None] = lambda path, evaluation: None,
    here: Here = HERE,
) -> list[Evaluation]:
    """Judge source files on a problem, one evaluation each, in order; `judged` hears of each as it comes.

    Raises UsageError for a file that cannot be read or whose suffix names no language, and Waiting, with the bundle
    that is to be judged there, where `device` names another machine's (see `search`; `archive` may know it).
    """
    paths = [Path(file) for file in files]
    sources = [read_source(path) for path in paths]
    spoken = [languages.of_file(path) for path in paths]
    goals = {language.name: plan.target_of(device, language.name, archive, here) for language in spoken}
    subject = problem.load(os.fspath(name))
    if away := [goal for goal in goals.values() if not goal.here]:
        raise _sent_away(subject, away[0], deadline_seconds, paths, sources)
    evaluations = []
    with ExitStack() as stack:
        evaluators = {
            language: stack.enter_context(closing(_evaluator(subject, goal, deadline_seconds, observe)))
            for language, goal in goals.items()
        }
        used = [evaluators[language.name] for language in spoken]
        pool = stack.enter_context(asking(cores()))
        builds = [pool.submit(evaluator.build, source) for evaluator, source in zip(used, sources, strict=True)]
        for path, evaluator, build in zip(paths, used, builds, strict=True):
            evaluations.append(evaluator.judge(build.result()))
            judged(path, evaluations[-1])
    return evaluations


def absorb(
    files: Sequence[str | os.PathLike[str]], *, archive: Archive | str | os.PathLike[str] | None = None
) -> list[Absorbed]:
    """Take in what `treesearch work` wrote, one Absorbed each; the search that waits for it then goes on.

    A second time changes nothing. Raises UsageError, and takes nothing, where a file is damaged or does not fit the
    archive's run: another problem, kernel, language, protocol or device.
    """
    with _store(archive) as store:
        return take_in(store, [Path(file) for file in files])


def _sent_away(
    subject: Problem, goal: Target, deadline_seconds: float, paths: Sequence[Path], sources: Sequence[str]
) -> Waiting:
    """Pack files that another machine must judge; returns what to raise."""
    kernels = dict(zip(map(str, paths), sources, strict=True))
    packed = Bundle(
        run="",
        problem=subject,
        problem_digest=subject.digest,
        language=goal.language.name,
        protocol=goal.protocol(subject, deadline_seconds),
        device=goal.device,
        kernels=tuple(Due.of(path, source) for path, source in kernels.items()),
    )
    return bundle.pack(packed, f"evaluate-{subject.name}", ())


def _templates(folder: str | os.PathLike[str] | None) -> Templates:
    return overridden(folder) if folder else SHIPPED_PROMPTS


def _meter(task: Task, listed: Sequence[Price]) -> Meter:
    """The meter of a run, which counts what it has spent before."""
    config = task.run.config
    return Meter(
        config.budget,
        config.prices,
        listed=listed,
        max_tokens=config.sampling.max_tokens,
        counted=task.archive.answers(task.run.id) if config.budget.spends else (),
        unanswered=task.archive.open_turns(task.run.id) if config.budget.spends else (),
        warn=lambda words: task.observe(BudgetUsed(words)),
    )


@contextmanager
def _store(archive: Archive | str | os.PathLike[str] | None) -> Iterator[Archive]:
    """The archive given, left open, or one opened here and closed again."""
    if isinstance(archive, Archive):
        yield archive
        return
    with Archive(archive or default_archive()) as store:
        yield store


@contextmanager
def _opened(
    names: Sequence[str], config: Config, subject: Problem, options: ModelOptions, store: Archive, observe: Observer
) -> Iterator[dict[str, Model]]:
    """Models by name, which are closed again after the block."""
    opened: dict[str, Model] = {}
    with ExitStack() as stack:
        for name in names:
            model = models.open_model(
                name,
                sampling=config.sampling,
                options=options,
                recordings=lambda archive: recorded.answers(archive, subject, config.language),
                on_failure=failures_kept(store, name, observe),
            )
            models.check(model)
            stack.callback(models.close, model)
            opened[name] = model
            if isinstance(model, ReplayModel):
                observe(Replaying(model.described()))
        yield opened


def _task(
    run: Run,
    subject: Problem,
    goal: Target,
    opened: dict[str, Model],
    policy: Policy,
    store: Archive,
    judge: Judge,
    observe: Observer,
) -> Task:
    replays = [model for model in opened.values() if isinstance(model, ReplayModel)]
    all_recorded = len(replays) == len(opened)
    return Task(
        run=run,
        problem=subject,
        language=goal.language,
        device=store.device(run.device),
        models=Pool.of(run.config, opened),
        policy=policy,
        archive=store,
        evaluator=judge,
        can_answer=partial(_any_has, replays) if all_recorded else always,
        replays=all_recorded,
        observe=observe,
    )


def _any_has(replays: Sequence[ReplayModel], stage: Stage, parent: str, ordinal: str) -> bool:
    return any(model.has(stage, parent, ordinal) for model in replays)


def _judge(
    subject: Problem, goal: Target, deadline_seconds: float, observe: Observer, beam: int
) -> Evaluator | Elsewhere:
    if goal.here:
        return _evaluator(subject, goal, deadline_seconds, observe, promoted=beam)
    protocol = goal.protocol(subject, deadline_seconds)
    return Elsewhere(subject, goal.language, protocol, goal.device, announce=lambda what: observe(Preparing(what)))


def _evaluator(
    subject: Problem, goal: Target, deadline_seconds: float, observe: Observer, *, promoted: int = 1
) -> Evaluator:
    def announce(what: str) -> None:
        observe(Preparing(what))

    protocol = goal.protocol(subject, deadline_seconds)
    return Evaluator(subject, goal.language, protocol, goal.device, announce=announce, promoted=promoted)


def read_source(path: Path) -> str:
    """The text of a kernel's file. Raises UsageError where it cannot be read."""
    try:
        return path.read_text(errors="replace")
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror}.") from error
