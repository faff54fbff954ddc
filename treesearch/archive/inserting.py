"""Inserts that may meet a row that is there already, in the dialects of SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TypeVar, cast

from sqlalchemy import Table, func
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from treesearch.archive import schema as s
from treesearch.archive.texts import CleanText, clean

Row = TypeVar("Row", bound=s.Base)


def insert_new(session: Session, rows: Sequence[s.Base], **instead: object) -> int:
    """Insert those rows whose keys are not there yet, with `instead` in place of what they say; returns how many."""
    return sum(_insert_new(session, _table(row), _values(row) | instead) for row in rows)


def _insert_new(session: Session, table: Table, values: Mapping[str, object]) -> int:
    connection = session.connection()  # what a session adds takes a third of an insert's time, and serves no table
    return connection.execute(_inserting(table, connection.dialect.name), values).rowcount


@cache
def _inserting(table: Table, dialect: str) -> sqlite.Insert | postgresql.Insert:
    """One statement for all rows of a table: to make it takes longer than to execute it."""
    statement = _insert_into(table, dialect).on_conflict_do_nothing()
    return statement.execution_options(preserve_rowcount=True)  # psycopg's count is else gone with its cursor


def cleaned(row: Row) -> Row:
    """The same row with its texts as they are once they are stored."""
    for name in _texts(_table(row)):
        if value := getattr(row, name):
            setattr(row, name, clean(value))
    return row


@cache
def _texts(table: Table) -> tuple[str, ...]:
    return tuple(column.key for column in table.columns if isinstance(column.type, CleanText))


def overwrite(session: Session, row: s.Base) -> None:
    """Insert a row, or overwrite the one with the same primary key; what is now NULL overwrites nothing."""
    table, values = _table(row), _values(row)
    statement = _insert_into(table, session.get_bind().dialect.name).values(values)
    kept = {key: func.coalesce(statement.excluded[key], table.c[key]) for key in values}
    session.execute(statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=kept))


def complete(session: Session, row: s.Base) -> None:
    """Insert a row, or give the one with the same primary key what it lacks: values that are NULL or empty."""
    insert_new(session, [row])
    key = tuple(getattr(row, column.key) for column in _table(row).primary_key)
    held = session.get_one(type(row), key, with_for_update=True)
    for name, value in _values(row).items():
        if getattr(held, name) in (None, "", []):
            setattr(held, name, value)


def _insert_into(table: Table, dialect: str) -> sqlite.Insert | postgresql.Insert:
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)


def _table(row: s.Base) -> Table:
    return cast(Table, row.__table__)


def _values(row: s.Base) -> dict[str, object]:
    """What the row's record says: all columns but a number that the database gives out."""
    return {key: getattr(row, key) for key in _told(_table(row))}


@cache
def _told(table: Table) -> tuple[str, ...]:
    return tuple(column.key for column in table.columns if column is not table.autoincrement_column)
