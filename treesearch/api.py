"""The library's front door: name a problem and models, get a search or verdicts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from treesearch import languages, loop, models, policies, problem, resources
from treesearch.archive import Archive
from treesearch.errors import AnswersExhausted, UsageError
from treesearch.evaluation import cache, device
from treesearch.evaluation.evaluator import Evaluator
from treesearch.events import Asking, Observer, Preparing, Replaying, RunOpened, silent
from treesearch.languages import Language
from treesearch.lineage import Lineage
from treesearch.models import Model, ModelOptions, Recordings, ReplayModel
from treesearch.policies import Policy
from treesearch.records import Config, Entry, Evaluation, Problem, Protocol, Request, Run, Sampling, Stage
from treesearch.steps.task import Task, always, asking

WORKING_ARCHIVE = ".treesearch/archive.db"
DEFAULT_SAMPLING = Sampling()
DEFAULT_OPTIONS = ModelOptions()
SHIPPED = "replay/"
"""The model that answers where no other is named and no key is set: the shipped record."""


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
    rounds: int | None = None,
    ideas: int | None = None,
    implementations: int | None = None,
    beam: int | None = None,
    repairs: int | None = None,
    policy: str | Policy = "diverse",
    language: str = "auto",
    deadline_seconds: float = 20.0,
    sampling: Sampling = DEFAULT_SAMPLING,
    options: ModelOptions = DEFAULT_OPTIONS,
    archive: Archive | str | os.PathLike[str] | None = None,
    new: bool = False,
    observe: Observer = silent,
) -> Result:
    """Search for a faster kernel; the same call continues a search that was interrupted.

    `name` is a shipped problem's name or the path of a KernelBench-format file; `models` are model strings
    (`openai/…`, `file/DIR`, `replay/ARCHIVE`), by default that of the first provider whose key is set, else the
    shipped record's answers. `archive` is a store or its URL, by default the working archive. Counts left at
    None are 5 rounds, 8 ideas, 3 implementations, a beam of 4, one repair. A policy of your own is a function
    from a lineage and a beam to kernel ids. `new` starts afresh instead of continuing. Deadlines are seconds.

    Raises the exceptions of `treesearch.errors`.
    """
    chosen = tuple(models) or default_models()
    subject = problem.load(os.fspath(name))
    spoken = languages.named(language)
    config = _config(
        recorded_config(chosen, subject),
        models=chosen,
        language=spoken.name,
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
    with _store(archive) as store:
        opened = _open_models(config, subject, options, store, observe)
        run = store.open_run(subject, config, device.cpu(), new=new)
        with (
            cache.alone(f"{store.url} {run.id}", f"Run {run.id} is already going on in another process."),
            _evaluator(subject, spoken, deadline_seconds, observe) as evaluator,
        ):
            observe(RunOpened(run, store.entries(run.id)))
            task = _task(replace(run, config=config), subject, opened, function, store, evaluator, observe)
            lineage = loop.search(task)
        return Result(store.run(run.id), lineage)


def evaluate(
    name: str | os.PathLike[str],
    files: Sequence[str | os.PathLike[str]],
    *,
    deadline_seconds: float = 20.0,
    observe: Observer = silent,
    judged: Callable[[Path, Evaluation], None] = lambda path, evaluation: None,
) -> list[Evaluation]:
    """Judge source files on a problem, one evaluation each, in order; `judged` hears of each as it comes.

    Raises UsageError for a file that cannot be read or whose suffix names no language.
    """
    paths = [Path(file) for file in files]
    sources = [_read(path) for path in paths]
    spoken = [languages.of_file(path) for path in paths]
    subject = problem.load(os.fspath(name))
    evaluations = []
    with ExitStack() as stack:
        evaluators: dict[str, Evaluator] = {}
        for language in spoken:
            if language.name not in evaluators:
                opened = _evaluator(subject, language, deadline_seconds, observe)
                evaluators[language.name] = stack.enter_context(opened)
        used = [evaluators[language.name] for language in spoken]
        pool = stack.enter_context(asking(device.cores()))
        builds = [pool.submit(evaluator.build, source) for evaluator, source in zip(used, sources, strict=True)]
        for path, evaluator, build in zip(paths, used, builds, strict=True):
            evaluations.append(evaluator.judge(build.result()))
            judged(path, evaluations[-1])
    return evaluations


def default_models() -> tuple[str, ...]:
    """The model of the first provider whose key is set, else the shipped record."""
    return (models.default_model(os.environ) or SHIPPED,)


def default_archive() -> str:
    """`$TREESEARCH_ARCHIVE`, else the working archive in the current folder."""
    return os.environ.get("TREESEARCH_ARCHIVE") or WORKING_ARCHIVE


def recordings(archive: str, subject: Problem) -> Recordings:
    """Recorded answers about a problem, from an archive's path or URL, or "" for the shipped record."""
    with Archive(archive or resources.record(), read_only=True) as store:
        return store.answers_for(subject.digest)


def recorded_config(chosen: Sequence[str], subject: Problem) -> Config | None:
    """How the search was run that a replay repeats; None where nothing is replayed or nothing recorded."""
    archives = [name.removeprefix("replay/") for name in chosen if name.startswith("replay/")]
    if len(archives) != len(chosen):
        return None
    for archive in archives:
        with Archive(archive or resources.record(), read_only=True) as store:
            runs = [run for run in store.runs() if run.problem == subject.digest]
        if runs:
            return runs[-1].config
    raise AnswersExhausted(
        f"No model was named, no provider's key is set, and the record holds no answers about {subject.name}. "
        "Name a model (--model openai/…, --model file/DIR) or set a key; `treesearch doctor` lists them."
        if tuple(chosen) == (SHIPPED,)
        else f"{', '.join(chosen)} holds no answers about {subject.name}."
    )


def _config(recorded: Config | None, **settings: Any) -> Config:
    """The settings given; counts left at None as in the recorded search, else by default."""
    given = {name: value for name, value in settings.items() if value is not None}
    try:
        if recorded is None:
            return Config(**given)
        counts = ("rounds", "ideas", "implementations", "beam", "repairs")
        return Config(**{**{name: getattr(recorded, name) for name in counts}, **given})
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


def _open_models(
    config: Config, subject: Problem, options: ModelOptions, store: Archive, observe: Observer
) -> tuple[Model, ...]:
    def failed(name: str, request: Request, why: str) -> None:
        store.save_failed_ask(request, name, why)
        observe(Asking(request, why))

    opened = []
    for name in config.models:
        model = models.open_model(
            name,
            sampling=config.sampling,
            options=options,
            recordings=lambda archive: recordings(archive, subject),
            on_failure=partial(failed, name),
        )
        models.check(model)
        opened.append(model)
        if isinstance(model, ReplayModel):
            observe(Replaying(model.described()))
    return tuple(opened)


def _task(
    run: Run,
    subject: Problem,
    opened: tuple[Model, ...],
    policy: Policy,
    store: Archive,
    evaluator: Evaluator,
    observe: Observer,
) -> Task:
    replays = [model for model in opened if isinstance(model, ReplayModel)]
    all_recorded = len(replays) == len(opened)
    return Task(
        run=run,
        problem=subject,
        language=evaluator.language,
        device=store.device(run.device),
        models=opened,
        policy=policy,
        archive=store,
        evaluator=evaluator,
        can_answer=partial(_any_has, replays) if all_recorded else always,
        replays=all_recorded,
        observe=observe,
    )


def _any_has(replays: Sequence[ReplayModel], stage: Stage, parent: str, ordinal: str) -> bool:
    return any(model.has(stage, parent, ordinal) for model in replays)


def _evaluator(subject: Problem, language: Language, deadline_seconds: float, observe: Observer) -> Evaluator:
    protocol = Protocol(subject.tolerance, deadline_seconds, device.cores())
    return Evaluator(subject, language, protocol, announce=lambda what: observe(Preparing(what)))


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror}.") from error
