"""What an archive of recorded searches offers to a replay: answers, settings, languages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treesearch import resources
from treesearch.archive import Archive
from treesearch.errors import AnswersExhausted
from treesearch.models import Recordings
from treesearch.records import Config, Device, Problem

PREFIX = "replay/"
SHIPPED = PREFIX
"""The model that answers where no other is named and no key is set: the shipped record."""


@dataclass(frozen=True)
class Recorded:
    """How a search was run, and on what."""

    config: Config
    device: Device


def replays_only(models: Sequence[str]) -> bool:
    return all(name.startswith(PREFIX) for name in models)


def answers(archive: str, subject: Problem, language: str) -> Recordings:
    """Recorded answers about a problem in a language, from an archive's path or URL, or "" for the shipped record."""
    with Archive(archive or resources.record(), read_only=True) as store:
        return store.answers_for(subject.digest, language)


def searches(models: Sequence[str], subject: Problem) -> list[Recorded]:
    """The searches on a problem that these replays hold: in the order of the models, the oldest first."""
    found = []
    for name in models:
        with Archive(name.removeprefix(PREFIX) or resources.record(), read_only=True) as store:
            about = [run for run in store.runs() if run.problem == subject.digest]
            found += [Recorded(run.config, store.device(run.device)) for run in reversed(about)]
    return found


def languages(models: Sequence[str], subject: Problem) -> set[str]:
    """Languages in which these replays hold answers about a problem."""
    return {search.config.language for search in searches(models, subject)}


def config(models: Sequence[str], subject: Problem, language: str) -> Config | None:
    """How the search was run that a replay repeats; None where not all models are replays.

    Raises AnswersExhausted where nothing is recorded, or only in another language.
    """
    if not replays_only(models):
        return None
    found = searches(models, subject)
    for search in found:
        if search.config.language == language:
            return search.config
    raise AnswersExhausted(_in_other_languages(subject, language, found) if found else _nothing(models, subject))


def _nothing(models: Sequence[str], subject: Problem) -> str:
    if tuple(models) != (SHIPPED,):
        return f"{', '.join(models)} holds no answers about {subject.name}."
    return (
        f"No model was named, no provider's key is set, and the record holds no answers about {subject.name}. "
        "Name a model (--model openai/…, --model file/DIR) or set a key; `treesearch doctor` lists them."
    )


def _in_other_languages(subject: Problem, language: str, found: Sequence[Recorded]) -> str:
    held = " and ".join(sorted({search.config.language for search in found}))
    device = found[0].device
    return (
        f"The recorded answers about {subject.name} are in {held}, and this search would be in {language}: name the "
        f"device to judge their kernels on (--device {device.id} is the recorded {device.name}, which need not be on "
        "this machine), or a model that is to answer (--model openai/…, --model file/DIR)."
    )
