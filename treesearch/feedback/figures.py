"""Figures and foreign text, made fit for a text that is bounded."""

from __future__ import annotations

import re

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
"""What could steer a terminal."""


def ms(value: float) -> str:
    return f"{value:.4g} ms"


def ratio(value: float) -> str:
    return f"{value:.2f}×"


def rate(number: float) -> str:
    """`3.01 T`, `750 G`: to be followed by a unit."""
    for power, prefix in ((12, "T"), (9, "G"), (6, "M")):
        if number >= 10**power:
            return f"{number / 10**power:.3g} {prefix}"
    return f"{number:.3g} "


def size(count: int) -> str:
    """`12.0 MiB`, `640 bytes`."""
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if count >= 1024**power:
            return f"{count / 1024**power:.1f} {unit}"
    return f"{count} byte{'' if count == 1 else 's'}"


def excerpt(text: str, limit: int) -> str:
    """Head and tail of a text longer than `limit` characters, with a note of what was left out between.

    It is cut between lines, or where a line is most of it, between words: no name is shortened.
    """
    if len(text) <= limit:
        return text
    note = f"\n[… {len(text) - limit} or more characters left out …]\n"
    room = max(limit - len(note), 0)
    return _head(text, room * 2 // 3) + note + _tail(text, room - room * 2 // 3)


def _head(text: str, room: int) -> str:
    head = text[:room]
    if head.rfind("\n") > room // 2:
        return head[: head.rfind("\n")]
    return head if text[room : room + 1].isspace() else head[: max(head.rfind(" "), head.rfind("\n"), 0)]


def _tail(text: str, room: int) -> str:
    tail = text[len(text) - room :]
    if -1 < tail.find("\n") < room // 2:
        return tail[tail.find("\n") + 1 :]
    found = re.search(r"\s", tail)
    return tail[found.end() :] if found else ""
