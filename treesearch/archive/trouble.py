"""What went wrong with the database, as one sentence that says what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

from treesearch.errors import ArchiveError

_BUSY = "{where} is locked by another process that writes to it; wait until that has finished, then run again"
_READ_ONLY = "{where} cannot be written; make it and its folder writable, or name another archive with --archive"
_FULL = "{where} cannot grow because its disk is full; free some space, then run again"
_DAMAGED = "{where} is no treesearch archive, or a damaged one; restore it from a copy, or name another with --archive"
_REFERENCE = "{where} refused a row that refers to one it does not hold; save what it refers to first ({reason})"
_CONFLICT = "{where} refused a row that contradicts one it holds ({reason}); run again, or start a new run"

_SQLITE = (
    ("SQLITE_BUSY", _BUSY),
    ("SQLITE_LOCKED", _BUSY),
    ("SQLITE_READONLY", _READ_ONLY),
    ("SQLITE_PERM", _READ_ONLY),
    ("SQLITE_FULL", _FULL),
    ("SQLITE_NOTADB", _DAMAGED),
    ("SQLITE_CORRUPT", _DAMAGED),
    ("SQLITE_CANTOPEN", "{where} cannot be opened; check the path and its permissions, or name another with --archive"),
    ("SQLITE_IOERR", "{where} cannot be read or written ({reason}); check its disk, then run again"),
    ("SQLITE_PROTOCOL", "{where} is on a file system without locks; put the archive on a local disk with --archive"),
    ("SQLITE_CONSTRAINT_FOREIGNKEY", _REFERENCE),
    ("SQLITE_CONSTRAINT", _CONFLICT),
)
"""Names of SQLite's result codes, by prefix; the first that fits speaks."""

_POSTGRES = (
    ("55P03", _BUSY),
    ("40", _BUSY),
    ("25006", _READ_ONLY),
    ("42501", "{where} refuses this user ({reason}); grant it the right to create and write tables"),
    ("28", "{where} refuses the login ({reason}); check the user and password in the URL"),
    ("3D000", "{where} does not exist on its server; create it with createdb, or check the URL"),
    ("53100", _FULL),
    ("53", "{where} has no resources left ({reason}); wait until the server is less busy, then run again"),
    ("23503", _REFERENCE),
    ("23", _CONFLICT),
    ("42P01", _DAMAGED),
    ("XX", _DAMAGED),
    ("57P", "{where} was shut down; start its server, then run again"),
    ("08", "{where} cannot be reached ({reason}); start its server, or check the URL"),
)
"""SQLSTATE codes of PostgreSQL, by prefix; the first that fits speaks."""

_UNREACHABLE = "{where} cannot be reached ({reason}); start its server, or check the URL"
_UNKNOWN = "{where} could not be used ({reason}); run again, or name another archive with --archive"


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Turn the driver's errors inside the block into `ArchiveError`; `where` names the archive, without password."""
    try:
        yield
    except DBAPIError as error:
        raise ArchiveError(_sentence(where, error.orig or error)) from error
    except sqlite3.Error as error:
        raise ArchiveError(_sentence(where, error)) from error


def _sentence(where: str, error: BaseException) -> str:
    reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    return _template(error).format(where=f"the archive {where}", reason=reason)


def _template(error: BaseException) -> str:
    if isinstance(error, sqlite3.Error):
        return _first(_SQLITE, getattr(error, "sqlite_errorname", "")) or _UNKNOWN
    state = getattr(error, "sqlstate", None)
    # A server that never answered gave no state: psycopg calls that an OperationalError.
    fallback = _UNREACHABLE if state is None and type(error).__name__ == "OperationalError" else _UNKNOWN
    return _first(_POSTGRES, state or "") or fallback


def _first(table: tuple[tuple[str, str], ...], code: str) -> str | None:
    return next((template for prefix, template in table if code.startswith(prefix)), None)
