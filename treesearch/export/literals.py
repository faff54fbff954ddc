"""Foreign text as Python source, exactly what it was, whatever it holds; as a comment, as Markdown, in TOML."""

from __future__ import annotations

import re

DOUBLE, SINGLE = '"""', "'''"


def literal(text: str) -> str:
    """A triple-quoted literal of a text, raw where the text allows it.

    Only quotes, backslashes and what an editor would not show as it is (control and formatting characters, lone
    surrogates) are ever escaped; characters that people read stay.
    """
    for quotes in (DOUBLE, SINGLE):
        if _is_plain(text, quotes):
            return f"r{quotes}{text}{quotes}"
    escaped = re.sub(r'"{3,}|"+\Z', lambda found: r"\"" * len(found[0]), "".join(map(_escaped, text)))
    return f"{DOUBLE}{escaped}{DOUBLE}"


def word(text: str) -> str:
    """A literal of a short text, on one line and in double quotes."""
    inside = "".join(map(_escaped, text)).replace('"', r"\"")
    return f'"{inside}"'.replace("\n", r"\n").replace("\t", r"\t")


def comment(text: str) -> str:
    """A text on one line, without quotes or backslashes, for a docstring or a comment."""
    flat = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return flat.replace("\\", "/").replace('"', "'")


def markdown(text: str) -> str:
    """A text on one line of plain words: no cell ends in it, and no link, image, code or tag begins."""
    return re.sub(r"([|`*_\[\]<&])", r"\\\1", comment(text))


def toml(text: str) -> str:
    """A basic string of TOML."""
    return f'"{comment(text)}"'


def _is_plain(text: str, quotes: str) -> bool:
    """Whether it may stand between these quotes of a raw literal as it is."""
    shown = all(character.isprintable() or character in "\n\t" for character in text)
    return shown and quotes not in text and not text.endswith(("\\", quotes[0]))


def _escaped(character: str) -> str:
    if character == "\\":
        return r"\\"
    if character.isprintable() or character in "\n\t":
        return character
    return character.encode("unicode_escape").decode()
