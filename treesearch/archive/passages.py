"""Prompts as the passages that they are made of, each of which an archive holds once.

Nearly all that one prompt says others say too: the contract, what is known of the machine, the problem, the sources
that many ideas are about. A row of `answers` names its passages by their digests, in order; older rows hold whole
prompts, and are read as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any

from sqlalchemy import Row, Select, bindparam, select
from sqlalchemy.orm import Session

from treesearch.archive import schema as s
from treesearch.archive.inserting import insert_new
from treesearch.archive.texts import clean
from treesearch.errors import ArchiveError
from treesearch.records import digest

NAMED = 500
"""Passages that one query names; databases take a limited number of parameters."""
_DIGITS = 32
"""Of a digest, which is named forty times in a prompt: 128 bits, of which nobody finds two alike."""
_TABLE = s.PassageRow.__table__
_AMONG = _TABLE.c.digest.in_(bindparam("named", expanding=True))
_DIGESTS, _TEXTS = select(_TABLE.c.digest).where(_AMONG), select(_TABLE.c.digest, _TABLE.c.text).where(_AMONG)
"""Made once: that takes longer than to execute them."""
_BEGINNING = re.compile(r"\n(?=#{1,3} |```)")
"""The end of the line before a heading or a fence."""


def digests(prompt: str) -> list[str]:
    """Those of a prompt's passages, in order."""
    return [one for one, _ in _split(prompt)]


def keep(session: Session, prompts: Iterable[str]) -> None:
    """Store those passages of prompts that are not there yet.

    In the order of their digests, and after the answers that name them: then no two who store the same ones wait for
    each other.
    """
    passages = dict(passage for prompt in prompts for passage in _split(prompt))
    held = {one for (one,) in _found(session, _DIGESTS, passages)}
    new = sorted(passages.keys() - held)
    insert_new(session, [s.PassageRow(digest=one, text=passages[one]) for one in new])


def prompts(session: Session, rows: Sequence[s.AnswerRow]) -> list[str]:
    """What was asked in each row, exactly. Raises ArchiveError where a passage is missing."""
    named = {one for row in rows for one in row.passages or ()}
    held = {row.digest: row.text for row in _found(session, _TEXTS, named)}
    if len(held) < len(named):
        raise ArchiveError("the archive lacks passages of its prompts; restore it from a copy")
    return [row.prompt if row.passages is None else "".join(held[one] for one in row.passages) for row in rows]


@lru_cache(maxsize=16)
def _split(prompt: str) -> tuple[tuple[str, str], ...]:
    """The digests and the texts of a prompt's passages: joined, these are the prompt as it is stored.

    Whoever stores a prompt asks twice, for its row and for what the row names.
    """
    text = clean(prompt)
    cuts = [0, *(found.end() for found in _BEGINNING.finditer(text)), len(text)]
    passages = (text[start:end] for start, end in pairwise(cuts) if start < end)
    return tuple((digest(one)[:_DIGITS], one) for one in passages)


def _found(session: Session, query: Select[*tuple[Any, ...]], named: Iterable[str]) -> Iterator[Row[*tuple[Any, ...]]]:
    """What a query finds of the passages with these digests."""
    left = iter(named)
    while batch := list(islice(left, NAMED)):
        yield from session.connection().execute(query, {"named": batch}).all()
