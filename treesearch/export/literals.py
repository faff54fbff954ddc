"""Foreign text as Python source: exactly what it was, whatever it holds, and readable where it can be."""

from __future__ import annotations

import re


def literal(text: str) -> str:
    '''A triple-quoted literal of a text, raw where the text allows it.

    Only `"""`, backslashes and what an editor would not show as it is (control and formatting characters, lone
    surrogates) are ever escaped; characters that people read stay.
    '''
    if _is_plain(text):
        return f'r"""{text}"""'
    escaped = re.sub(r'"{3,}|"+\Z', lambda found: r"\"" * len(found[0]), "".join(map(_escaped, text)))
    return f'"""{escaped}"""'


def comment(text: str) -> str:
    """A text on one line, without quotes or backslashes, for a docstring or a comment."""
    flat = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return flat.replace("\\", "/").replace('"', "'")


def _is_plain(text: str) -> bool:
    """Whether it may stand between the quotes of a raw literal as it is."""
    shown = all(character.isprintable() or character in "\n\t" for character in text)
    return shown and '"""' not in text and not text.endswith(("\\", '"'))


def _escaped(character: str) -> str:
    if character == "\\":
        return r"\\"
    if character.isprintable() or character in "\n\t":
        return character
    return character.encode("unicode_escape").decode()
