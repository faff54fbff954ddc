"""Several models that share the work: whose turn it is, and who answers in its place."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TypeVar

from treesearch.errors import AnswersExhausted, ModelError, ModelUnavailable, PromptTooLong, QuestionRefused
from treesearch.models.api import ApiModel
from treesearch.models.base import Model
from treesearch.models.workbench import Workbench
from treesearch.records import Answer, Config, Request, Stage

SET_ASIDE_SECONDS = 300.0
"""How long a model that failed for good is asked last."""

GRAVITY = (PromptTooLong, QuestionRefused, ModelUnavailable, AnswersExhausted, ModelError)
"""What is raised where several models fail in several ways: the first of these. A question that one of them refuses for
good is not asked again in the hope for another."""

WEIGHTED = re.compile(r"(?P<name>\S+)=(?P<weight>[1-9]\d?)")

M = TypeVar("M")


def weighted(given: str) -> tuple[str, int]:
    """A model string and its weight: 2 for `openai/gpt-5.6=2`, 1 where none is given.

    A string with white space has no weight: in `cmd/agent --turns=3` the number belongs to the command.
    """
    match = WEIGHTED.fullmatch(given)
    return (match["name"], int(match["weight"])) if match else (given, 1)


def names(*given: Sequence[str]) -> tuple[str, ...]:
    """Every model once, without weights."""
    return tuple(dict.fromkeys(weighted(one)[0] for role in given for one in role))


def turns(shares: Sequence[tuple[M, int]]) -> tuple[M, ...]:
    """As many turns for each as its weight says, spread out: a, b, a for weights of 2 and 1."""
    most = max((weight for _, weight in shares), default=0)
    return tuple(one for turn in range(most) for one, weight in shares if turn < weight)


def in_turn(config: Config, stage: Stage) -> tuple[str, ...]:
    """The names of the models that answer questions of a stage, in the order of turns."""
    of_role = config.idea_models if stage is Stage.IDEAS else config.code_models
    return turns([weighted(one) for one in of_role or config.models])


class Pool:
    """Models by role: those that are asked for ideas, and those that write kernels.

    Whose turn it is depends on the turn alone, so a run that goes on asks the same model. One that fails is replaced
    by the others of its role, in the order of their turns; the answer names the one that gave it. A model that
    a prompt was too long for is asked last about anything as long.
    """

    def __init__(self, ideas: Sequence[Model], code: Sequence[Model]) -> None:
        """Each in the order of turns; a model of weight 2 comes twice."""
        self.ideas = tuple(ideas)
        self.code = tuple(code)
        self._lock = threading.Lock()
        self._set_aside: dict[str, float] = {}
        self._too_long: dict[str, int] = {}
        """Characters of the shortest prompt that did not fit into a model's context, by the model's name."""

    @classmethod
    def of(cls, config: Config, opened: Mapping[str, Model]) -> Pool:
        """The pool that a configuration describes; `opened` holds its models by name."""
        ideas, code = (in_turn(config, stage) for stage in (Stage.IDEAS, Stage.KERNEL))
        return cls([opened[name] for name in ideas], [opened[name] for name in code])

    def whose(self, request: Request, turn: int) -> Model:
        """The model whose turn it is."""
        models = self._of_role(request)
        return models[turn % len(models)]

    def ask(self, request: Request, turn: int, workbench: Workbench | None = None) -> tuple[Request, Answer]:
        """The answer of the model whose turn it is, or of another of its role where that fails, and the question as it
        was put to that model: with the tool of a workbench, where there is one and the model can call tools.

        Raises Waiting where the answer is due from outside, and where no model answers PromptTooLong, QuestionRefused,
        ModelUnavailable or AnswersExhausted.
        """
        failures: list[ModelError] = []
        for model in self._in_order(request, turn):
            try:
                return _asked(model, request, workbench)
            except ModelError as error:
                failures.append(error)
                if isinstance(error, ModelUnavailable):
                    self._put_aside(model)
                if isinstance(error, PromptTooLong):
                    self._remember(model, len(request.prompt))
        raise gravest(failures)

    def is_too_long(self, request: Request) -> bool:
        """Whether a prompt no longer than this one was too long for every model that may answer it."""
        return all(self._overflows(model, request) for model in self._of_role(request))

    def _of_role(self, request: Request) -> tuple[Model, ...]:
        return self.ideas if request.stage is Stage.IDEAS else self.code

    def _in_order(self, request: Request, turn: int) -> list[Model]:
        """Each model of the role once, from the one whose turn it is; those that are likely to fail come last."""
        models = self._of_role(request)
        first = turn % len(models)
        found = {model.name: model for model in (*models[first:], *models[:first])}
        with self._lock:
            aside = {name for name, until in self._set_aside.items() if until > time.monotonic()}
        return sorted(found.values(), key=lambda model: model.name in aside or self._overflows(model, request))

    def _put_aside(self, model: Model) -> None:
        with self._lock:
            self._set_aside[model.name] = time.monotonic() + SET_ASIDE_SECONDS

    def _overflows(self, model: Model, request: Request) -> bool:
        with self._lock:
            return len(request.prompt) >= self._too_long.get(model.name, sys.maxsize)

    def _remember(self, model: Model, characters: int) -> None:
        with self._lock:
            self._too_long[model.name] = min(characters, self._too_long.get(model.name, sys.maxsize))


def _asked(model: Model, request: Request, workbench: Workbench | None) -> tuple[Request, Answer]:
    if workbench and isinstance(model, ApiModel):
        return model.ask_at(workbench, request)
    return request, model.ask(request)


def gravest(failures: Sequence[ModelError]) -> ModelError:
    """One exception for all models of a role, with the words of every model that failed in that way."""
    kind = next(kind for kind in GRAVITY if any(isinstance(failure, kind) for failure in failures))
    said = dict.fromkeys(str(failure) for failure in failures if isinstance(failure, kind))
    return kind("; and ".join(said))
