"""What a search would take, from the prompts that it would render and from answers that are recorded. Asks nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import TypeVar

from treesearch import meter, prompts
from treesearch.archive import AnswerSize, Archive
from treesearch.lineage import Lineage
from treesearch.models import pool, prices
from treesearch.plan import Plan
from treesearch.prompts import SHIPPED, Inspiration, Templates
from treesearch.records import Config, Entry, Price, Stage
from treesearch.steps.attempt import REPAIRABLE
from treesearch.steps.recorded import replays_only
from treesearch.steps.task import ASKERS
from treesearch.steps.think import Share

TOKENS_A_SECOND = 50
"""What a model writes, where no answer is recorded with its time."""

SECONDS_A_VERDICT = 5.0
"""Where none is recorded."""
T = TypeVar("T")


@dataclass(frozen=True)
class Prompted:
    """What prompts are rendered from beside the search itself."""

    templates: Templates = SHIPPED
    bank: tuple[Inspiration, ...] = ()


@dataclass(frozen=True)
class Part:
    """The questions of one stage: how many, and the tokens of each."""

    stage: Stage
    questions: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True)
class Estimate:
    """What a whole search would take, as if nothing of it were stored yet."""

    parts: tuple[Part, ...]
    unpriced: tuple[str, ...]
    """Models whose price is not known."""
    cost_usd: float | None
    """None where a model is unpriced."""
    evaluations: int
    asking_minutes: float
    judging_minutes: float
    recorded: int
    """Answers whose length it rests on; where there are none, on a guess."""

    @property
    def input_tokens(self) -> int:
        return sum(part.questions * part.input_tokens for part in self.parts)

    @property
    def output_tokens(self) -> int:
        return sum(part.questions * part.output_tokens for part in self.parts)


def forecast(plan: Plan, archives: Sequence[Archive], prompted: Prompted) -> Estimate:
    """What a search would take; `archives` hold the answers and verdicts that it is judged by, the nearest first."""
    config = plan.config
    sizes = _alike(_nearest(archives, Archive.answer_sizes, config.language), plan.models)
    verdicts = _nearest(archives, Archive.verdict_seconds, config.language)
    failing = sum(status in REPAIRABLE for status, _ in verdicts) / len(verdicts) if verdicts else 0.5
    counts = _counts(config, failing)
    read = _prompt_tokens(plan, prompted, *_example(plan, archives))
    live = not replays_only(plan.models)
    parts = tuple(
        Part(stage, counts[stage], read[stage] if live else 0, _written(stage, sizes, config) if live else 0)
        for stage in Stage
    )
    known = prices(plan.models, config.prices)
    unpriced = tuple(model for model, price in known.items() if price is None)
    evaluations = counts[Stage.KERNEL] + counts[Stage.REPAIR]
    seconds = fmean(one for _, one in verdicts) if verdicts else SECONDS_A_VERDICT
    return Estimate(
        parts,
        unpriced,
        None if unpriced else _cost(parts, {model: price for model, price in known.items() if price}, config),
        evaluations,
        _asking_seconds(parts, sizes, config) / 60 if live else 0.0,
        evaluations * seconds / 60,
        len(sizes) if live else 0,
    )


def _counts(config: Config, failing: float) -> dict[Stage, int]:
    """Questions of each stage, if no idea is dropped and as many kernels fail as have been recorded."""
    kernels = config.beam + config.rounds * config.ideas * config.implementations
    return {
        Stage.IDEAS: config.rounds * min(config.beam, config.ideas),
        Stage.KERNEL: kernels,
        Stage.REPAIR: math.ceil(kernels * failing) * config.repairs,
    }


# ── tokens ──────────────────────────────────────────────────────────────────────────────────────


def _example(plan: Plan, archives: Sequence[Archive]) -> tuple[Entry | None, Lineage]:
    """A recorded winner to stand in for the parents to come, in the search's language if there is one, and its run."""
    runs = [(archive, run) for archive in archives for run in archive.runs()]
    runs.sort(key=lambda found: found[1].config.language != plan.config.language)
    for archive, run in runs:
        lineage = archive.lineage(run.id)
        if fastest := lineage.fastest():
            return fastest, lineage
    return None, Lineage(())


def _prompt_tokens(plan: Plan, prompted: Prompted, parent: Entry | None, lineage: Lineage) -> dict[Stage, int]:
    """Tokens of one prompt of each stage; without a parent to show, those of the first kernels' prompt."""
    about, config = (plan.problem, plan.goal.language, plan.goal.device), plan.config
    bank, templates = prompted.bank, prompted.templates
    kernel = partial(prompts.kernel, *about, variant=0, bank=bank, templates=templates)
    first = kernel(parent=None, idea=None, variants=config.beam)
    if parent is None:
        return dict.fromkeys(Stage, meter.tokens(first))
    idea = parent.kernel.idea
    share = Share(0, parent, math.ceil(config.ideas / config.beam)).asked
    rendered = {
        Stage.IDEAS: prompts.ideas(*about, parent, lineage, share, bank=bank, templates=templates),
        Stage.KERNEL: kernel(parent=parent, idea=idea, variants=config.implementations) if idea else first,
        Stage.REPAIR: prompts.repair(*about, _failed(lineage) or parent, idea, templates=templates),
    }
    return {stage: meter.tokens(text) for stage, text in rendered.items()}


def _failed(lineage: Lineage) -> Entry | None:
    repairable = (one for one in lineage.entries if one.evaluation and one.evaluation.status in REPAIRABLE)
    return next((one for one in repairable if one.kernel.source), None)


def _nearest(archives: Sequence[Archive], read: Callable[[Archive, str], Iterable[T]], language: str) -> list[T]:
    """What is known of searches in this language, if there were any; else of all."""
    own = [one for archive in archives for one in read(archive, language)]
    return own or [one for archive in archives for one in read(archive, "")]


def _alike(sizes: Sequence[AnswerSize], models: Sequence[str]) -> list[AnswerSize]:
    """The answers of the models that would be asked, if they have any; else all."""
    return [size for size in sizes if size.model in models] or list(sizes)


def _written(stage: Stage, sizes: Iterable[AnswerSize], config: Config) -> int:
    """Tokens of an answer: the mean of those recorded, at most as many as it may have."""
    lengths = [size.output_tokens or size.characters / meter.CHARACTERS_PER_TOKEN for size in _of(stage, sizes)]
    mean = math.ceil(fmean(lengths)) if lengths else meter.EXPECTED[stage]
    return min(mean, config.sampling.max_tokens or mean)


def _of(stage: Stage, sizes: Iterable[AnswerSize]) -> list[AnswerSize]:
    """Repairs are kernels as well, and rarer."""
    stages = (Stage.IDEAS,) if stage is Stage.IDEAS else (Stage.KERNEL, Stage.REPAIR)
    return [size for size in sizes if size.stage in stages]


# ── money and time ──────────────────────────────────────────────────────────────────────────────


def _cost(parts: Iterable[Part], prices: Mapping[str, Price], config: Config) -> float:
    """Models take turns, so each answers its share of the questions that its role gets."""
    return sum(
        part.questions
        * fmean(prices[model].of(part.input_tokens, part.output_tokens) for model in pool.in_turn(config, part.stage))
        for part in parts
    )


def _asking_seconds(parts: Iterable[Part], sizes: Sequence[AnswerSize], config: Config) -> float:
    """Questions of a stage are asked together, as many as may be in flight; the stages of a round follow each other."""
    rounds = {Stage.IDEAS: config.rounds, Stage.KERNEL: config.rounds + 1, Stage.REPAIR: config.rounds + 1}
    waves = {part: math.ceil(part.questions / max(rounds[part.stage], 1) / ASKERS) for part in parts}
    return sum(rounds[part.stage] * waves[part] * _answer_seconds(part, sizes) for part in waves)


def _answer_seconds(part: Part, sizes: Sequence[AnswerSize]) -> float:
    timed = [size.seconds for size in _of(part.stage, sizes) if size.seconds is not None]
    return fmean(timed) if timed else part.output_tokens / TOKENS_A_SECOND
