"""Ids by their beginnings."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import InstrumentedAttribute, Session

from treesearch.errors import UsageError

_CANDIDATES = 8
"""How many ids an error message names."""
_LONGEST_ID = 200
"""No id has as many characters; SQLite compares no text with a pattern of more than 50,000."""


def unique(session: Session, column: InstrumentedAttribute[str], prefix: str, what: str) -> str:
    """The one id that is, or starts with, `prefix`."""
    wanted = prefix.strip().lower()[:_LONGEST_ID]
    starts = select(column).where(column.startswith(wanted, autoescape=True)).order_by(column)
    found = session.scalars(starts.limit(_CANDIDATES + 1)).all()
    if wanted in found or (wanted and len(found) == 1):
        return found[0]  # an id sorts before those that it begins
    if found and wanted:
        raise UsageError(f"{prefix!r} is the beginning of more than one {what}: {_some(found)}; add a character")
    known = session.scalars(select(column).order_by(column).limit(_CANDIDATES + 1)).all()
    raise UsageError(f"no {what} has an id that starts with {prefix!r}; there is {_some(known) or 'none yet'}")


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_CANDIDATES]) + (", …" if len(ids) > _CANDIDATES else "")
