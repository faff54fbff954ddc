"""The kernel languages. Whatever depends on a language sits in its `Language` record; nothing else asks which it is."""

from __future__ import annotations

from pathlib import Path

from treesearch.errors import UsageError
from treesearch.languages.cpp import CPP
from treesearch.languages.language import Language

LANGUAGES: dict[str, Language] = {language.name: language for language in (CPP,)}


def named(name: str) -> Language:
    """The language of that name; `auto` is C++ while there is no other."""
    if name == "auto":
        return CPP
    if name not in LANGUAGES:
        raise UsageError(f"There is no language {name!r}; choose one of: auto, {', '.join(LANGUAGES)}.")
    return LANGUAGES[name]


def of_file(path: Path) -> Language:
    """The language that a source file's suffix says."""
    for language in LANGUAGES.values():
        if path.suffix in language.suffixes:
            return language
    known = ", ".join(suffix for language in LANGUAGES.values() for suffix in language.suffixes)
    raise UsageError(f"{path} has a suffix that no kernel language uses; known are {known}.")


__all__ = ["CPP", "LANGUAGES", "Language", "named", "of_file"]
