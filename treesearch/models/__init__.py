"""Asking a reasoning model, wherever it is.

| string | who answers |
|---|---|
| `file/DIR` | whoever writes answer files into DIR |
| `cmd/COMMAND` | a program: the prompt on its standard input, the answer on its standard output |
| `replay/ARCHIVE` | a recorded archive; `replay/` is the shipped record |
| anything else | an API, by its litellm string: `openai/gpt-5.6`, `anthropic/…`, `ollama/…` |
"""

from __future__ import annotations

from collections.abc import Callable

from treesearch.errors import UnknownModel
from treesearch.models.api import ApiModel
from treesearch.models.base import Model, ModelOptions, OnFailure
from treesearch.models.command import CommandModel
from treesearch.models.failures import Failure
from treesearch.models.file import FileModel
from treesearch.models.persistent import Persistent
from treesearch.models.pool import Pool
from treesearch.models.prices import prices
from treesearch.models.providers import PROVIDERS, Provider, default_model, keys_present
from treesearch.models.questions import Question, lying, parted
from treesearch.models.replay import Recordings, ReplayModel
from treesearch.models.workbench import MOST_BUILDS, Workbench
from treesearch.records import Sampling

__all__ = [
    "MOST_BUILDS",
    "PROVIDERS",
    "ApiModel",
    "CommandModel",
    "Failure",
    "FileModel",
    "Model",
    "ModelOptions",
    "OnFailure",
    "Pool",
    "Provider",
    "Question",
    "Recordings",
    "ReplayModel",
    "Workbench",
    "check",
    "close",
    "default_model",
    "keys_present",
    "lying",
    "open_model",
    "parted",
    "prices",
]


def open_model(
    name: str,
    *,
    sampling: Sampling,
    options: ModelOptions,
    recordings: Callable[[str], Recordings] | None = None,
    on_failure: OnFailure | None = None,
) -> Model:
    """The model behind a string; raises UnknownModel where there is none. Touches no network.

    `recordings` reads an archive, by its path or "" for the shipped record, and is needed for `replay/` alone.
    `on_failure` is told of every failed attempt of a model behind an API or a command.
    """
    prefix, _, rest = name.partition("/")
    if prefix == "file":
        return _file_model(name, rest, options)
    if prefix == "cmd":
        return CommandModel(name, options=options, on_failure=on_failure)
    if prefix == "replay":
        return _replay_model(name, rest, recordings)
    return ApiModel(name, sampling=sampling, options=options, on_failure=on_failure)


def check(model: Model) -> None:
    """Find out before the first question what would make every question fail; touches no network.

    Raises ModelUnavailable (a missing key or command) or MachineError (a folder that cannot be written).
    """
    if isinstance(model, Persistent | FileModel):
        model.check()


def close(model: Model) -> None:
    """End what a model has started: no command outlives the search that asked it."""
    if isinstance(model, CommandModel):
        model.close()


def _file_model(name: str, folder: str, options: ModelOptions) -> FileModel:
    if not folder.strip():
        raise UnknownModel(f"{name!r} names no folder; write file/DIR, such as file/answers")
    return FileModel(name, options=options)


def _replay_model(name: str, archive: str, recordings: Callable[[str], Recordings] | None) -> ReplayModel:
    if recordings is None:
        raise UnknownModel(f"{name!r} needs an archive of answers, and none can be read here; name a live model")
    return ReplayModel(name, recordings(archive))
