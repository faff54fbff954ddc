"""The library's front door: name a problem and models, get a search or verdicts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from treesearch import languages, loop, models, policies, problem, resources
from treesearch.archive import Archive
from treesearch.errors import UsageError, Waiting
from treesearch.evaluation import bundle, cache, target
from treesearch.evaluation.bundle import Bundle, Due
from treesearch.evaluation.device import cores
from treesearch.evaluation.elsewhere import Elsewhere
from treesearch.evaluation.evaluator import Evaluator
from treesearch.evaluation.target import AUTO, HERE, Here, Target
from treesearch.events import Observer, Preparing, Replaying, RunOpened, silent
from treesearch.lineage import Lineage
from treesearch.models import Model, ModelOptions, Pool, ReplayModel, pool
from treesearch.policies import Policy
from treesearch.prompts import SHIPPED as SHIPPED_PROMPTS
from treesearch.prompts import overridden
from treesearch.records import Config, Device, Entry, Evaluation, Problem, Run, Sampling, Stage
from treesearch.steps import bank, recorded
from treesearch.steps.absorb import Absorbed
from treesearch.steps.absorb import absorb as take_in
from treesearch.steps.task import Judge, Task, always, asking, failures_kept

WORKING_ARCHIVE = ".treesearch/archive.db"
SHIPPED = recorded.SHIPPED
DEFAULT_SAMPLING = Sampling()
DEFAULT_OPTIONS = ModelOptions()


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
    default the working archive. Counts left at
    None are 5 rounds, 8 ideas, 3 implementations, a beam of 4, one repair. A policy of your own is a function
    from a lineage and a beam to kernel ids. `new` starts afresh instead of continuing. Deadlines are seconds.
    `prompts` is a folder of templates that take the place of their shipped namesakes; `inspire` are ids of kernels, of
    any problem, that models are shown.

    `device` is this machine's by default, else the id or a part of the name of one that an archive knows, or the path
    of a description. Where that is another machine's, every round raises Waiting with the bundle that is to be judged
    there (`treesearch work`), whose results `absorb` takes. `here` says what this machine has, if not what is found. An
    `evaluator` judges in place of the device's own, such as `treesearch.testing.ScriptedEvaluator`.

    Raises the exceptions of `treesearch.errors`.
    """
    shared = tuple(models) or (() if idea_models and code_models else default_models())
    by_role = (tuple(idea_models), tuple(code_models))
    chosen = pool.names(shared, *by_role)
    subject = problem.load(os.fspath(name))
    goal = _target(device, language, chosen, subject, archive, here)
    config = _config(
        recorded.config(chosen, subject, goal.language.name),
        models=shared,
        idea_models=by_role[0],
        code_models=by_role[1],
        language=goal.language.name,
        rounds=rounds,
        ideas=ideas,
        implementations=implementations,
        beam=beam,
        repairs=repairs,
        policy=policy if isinstance(policy, str) else getattr(policy, "__name__", "custom"),
        deadline_seconds=deadline_seconds,
        sampling=sampling,
    )
    function = policies.named(policy) if isinstance(policy, str) else policy
    templates = overridden(prompts) if prompts else SHIPPED_PROMPTS
    with _store(archive) as store, _opened(chosen, config, subject, options, store, observe) as opened:
        banked = bank.inspirations(store, subject, goal.language, inspire)
        run = store.open_run(subject, config, goal.device, new=new)
        with (
            cache.alone(f"{store.url} {run.id}", f"Run {run.id} is already going on in another process."),
            closing(evaluator or _judge(subject, goal, deadline_seconds, observe, config.beam)) as judge,
        ):
            observe(RunOpened(run, store.entries(run.id)))
            task = _task(replace(run, config=config), subject, goal, opened, function, store, judge, observe)
            lineage = loop.search(replace(task, templates=templates, bank=banked))
        return Result(store.run(run.id), lineage)


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
    goals = {language.name: _device(device, language.name, archive, here) for language in spoken}
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


def default_models() -> tuple[str, ...]:
    """The model of the first provider whose key is set, else the shipped record."""
    return (models.default_model(os.environ) or SHIPPED,)


def default_archive() -> str:
    """`$TREESEARCH_ARCHIVE`, else the working archive in the current folder."""
    return os.environ.get("TREESEARCH_ARCHIVE") or WORKING_ARCHIVE


def _target(
    device: str,
    language: str,
    chosen: Sequence[str],
    subject: Problem,
    archive: Archive | str | os.PathLike[str] | None,
    here: Here,
) -> Target:
    """The device and the language of a search. Where either may be chosen, a replay takes what is recorded."""
    if device != AUTO:
        return _device(device, language, archive, here)
    able = target.spoken(language, here)
    if recorded.replays_only(chosen):
        held = recorded.languages(chosen, subject)
        able = tuple(one for one in able if one.name in held) or able
    return target.at_hand(able[0], here)


def _device(device: str, language: str, archive: Archive | str | os.PathLike[str] | None, here: Here) -> Target:
    if device == AUTO:
        return target.at_hand(languages.named(language), here)
    return target.named(device, language, _known_devices(archive), here)


def _known_devices(archive: Archive | str | os.PathLike[str] | None) -> tuple[Device, ...]:
    """The devices of the working archive, if there is one yet, and of the shipped record."""
    with Archive(resources.record(), read_only=True) as record:
        recorded = record.devices()
    if isinstance(archive, Archive):
        return archive.devices() + recorded
    place = os.fspath(archive or default_archive())
    if "://" not in place and not Path(place).exists():
        return recorded
    with Archive(place) as store:
        return store.devices() + recorded


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


def _config(repeated: Config | None, **settings: Any) -> Config:
    """The settings given; counts left at None as in the recorded search, else by default."""
    given = {name: value for name, value in settings.items() if value is not None}
    try:
        if repeated is None:
            return Config(**given)
        counts = ("rounds", "ideas", "implementations", "beam", "repairs")
        return Config(**{**{name: getattr(repeated, name) for name in counts}, **given})
    except ValueError as error:
        raise UsageError(f"These settings do not fit: {error}.") from error


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
