"""Inserts that may meet a row that is there already, in the dialects of SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from sqlalchemy import CursorResult, Table, func
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from treesearch.archive import schema as s


def insert_new(session: Session, rows: Sequence[s.Base]) -> int:
    """Insert those rows whose keys are not there yet; returns how many."""
    statements = [_insert_into(session, row).on_conflict_do_nothing() for row in rows]
    return sum(cast("CursorResult[Any]", session.execute(statement)).rowcount for statement in statements)


def overwrite(session: Session, row: s.Base) -> None:
    """Insert a row, or overwrite the one with the same primary key; what is now NULL overwrites nothing."""
    statement, table = _insert_into(session, row), _table(row)
    values = {key: func.coalesce(statement.excluded[key], table.c[key]) for key in _values(row)}
    session.execute(statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=values))


def complete(session: Session, row: s.Base) -> None:
    """Insert a row, or give the one with the same primary key what it lacks: values that are NULL or empty."""
    insert_new(session, [row])
    key = tuple(getattr(row, column.key) for column in _table(row).primary_key)
    held = session.get_one(type(row), key, with_for_update=True)
    for name, value in _values(row).items():
        if getattr(held, name) in (None, "", []):
            setattr(held, name, value)


def _insert_into(session: Session, row: s.Base) -> sqlite.Insert | postgresql.Insert:
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    return insert(_table(row)).values(_values(row))


def _table(row: s.Base) -> Table:
    return cast(Table, row.__table__)


def _values(row: s.Base) -> dict[str, object]:
    """What the row's record says: all columns but a number that the database gives out."""
    columns = (column.key for column in _table(row).columns if column is not _table(row).autoincrement_column)
    return {key: getattr(row, key) for key in columns}
