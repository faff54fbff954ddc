"""The kernel languages. Whatever depends on a language sits in its `Language` record; nothing else asks which it is."""

from __future__ import annotations

from pathlib import Path

from treesearch.errors import UsageError
from treesearch.languages.cpp import CPP
from treesearch.languages.cuda import CUDA
from treesearch.languages.language import Language
from treesearch.languages.module import MODULE

LANGUAGES: dict[str, Language] = {language.name: language for language in (CPP, CUDA, MODULE)}


def named(name: str) -> Language:
    """The language of that name; `auto` is that of the CPU, which every machine has."""
    if name == "auto":
        return CPP
    if name not in LANGUAGES:
        raise UsageError(f"There is no language {name!r}; choose one of: auto, {', '.join(LANGUAGES)}.")
    return LANGUAGES[name]


def for_device(kind: str) -> Language:
    """The language that is searched where only a kind of device is given, `cpu` or `cuda`: one of the C contract."""
    for language in LANGUAGES.values():
        if language.sealed and language.runs_on(kind):
            return language
    raise UsageError(f"No kernel language runs on a device of kind {kind!r}.")


def of_file(path: Path) -> Language:
    """The language that a source file's suffix says."""
    for language in LANGUAGES.values():
        if path.suffix in language.suffixes:
            return language
    known = ", ".join(suffix for language in LANGUAGES.values() for suffix in language.suffixes)
    raise UsageError(f"{path} has a suffix that no kernel language uses; known are {known}.")


__all__ = ["CPP", "CUDA", "LANGUAGES", "Language", "for_device", "named", "of_file"]
