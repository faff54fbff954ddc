"""From a path or URL to an engine whose connections behave alike.

SQLite: WAL, enforced foreign keys, a busy timeout, and explicit transactions; those that write say so at once
(`BEGIN IMMEDIATE`), since upgrading a read lock deadlocks. PostgreSQL: the same timeout for locks.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    NullPool,
    QueuePool,
    Row,
    Select,
    StaticPool,
    create_engine,
    event,
    make_url,
)
from sqlalchemy.exc import ArgumentError
from sqlalchemy.orm import Session

from treesearch.errors import ArchiveError

CONNECT_SECONDS = 10
"""How long a PostgreSQL server may take to answer."""


@dataclass(frozen=True)
class Place:
    """Where an archive is: a file (then `path` is set and absolute) or a server."""

    url: URL
    path: Path | None = None

    def __str__(self) -> str:
        return str(self.path) if self.path else self.url.render_as_string(hide_password=True)


def locate(url: str | os.PathLike[str]) -> Place:
    """The place that a plain path or a URL names. Raises ArchiveError for a URL that cannot be used."""
    text = os.fspath(url)
    if isinstance(url, str) and re.match(r"[A-Za-z][\w+.-]*://|(sqlite|postgres)[\w+]*:", text):
        return _locate_url(text)
    return _file(Path(text).expanduser())


def _file(path: Path) -> Place:
    absolute = path.absolute()
    return Place(URL.create("sqlite", database=str(absolute)), absolute)


def _locate_url(text: str) -> Place:
    scheme = text.partition(":")[0]
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        # The text itself may hold a password.
        raise ArchiveError(
            f"the {scheme} URL of the archive is malformed; write a path, sqlite:///PATH or "
            "postgresql://USER:PASSWORD@HOST/DATABASE, with special characters percent-encoded"
        ) from error
    if url.drivername in ("sqlite", "sqlite+pysqlite"):
        return _locate_sqlite(url)
    if url.drivername in ("postgres", "postgresql", "postgresql+psycopg"):
        # Named, because which driver a bare `postgresql` means differs between versions of SQLAlchemy.
        return Place(url.set(drivername="postgresql+psycopg"))
    raise ArchiveError(
        f"an archive cannot live in {scheme}; write a path, which means SQLite, "
        "or a postgresql:// URL, which means PostgreSQL through psycopg"
    )


def _locate_sqlite(url: URL) -> Place:
    if not url.database or url.database.startswith((":memory:", "file:")):
        raise ArchiveError("an archive in SQLite needs a file of its own; write a path or sqlite:///PATH")
    return _file(Path(url.database))


def open_engine(place: Place, *, read_only: bool, busy_seconds: float) -> Engine:
    """An engine for the place; creates the folder of a file that is to be written, but no table."""
    if place.path is None:
        return _open_server(place, read_only, busy_seconds)
    if read_only:
        return _open_recorded(place, place.path, busy_seconds)
    return _open_working(place, place.path, busy_seconds)


def seal_file(path: Path) -> None:
    """Compact a SQLite file and take it out of WAL, the only mode that leaves files beside it."""
    with closing(_connect(f"file:{quote(str(path))}?mode=rw", busy_seconds=1.0)) as connection:
        connection.execute("VACUUM")
        connection.execute("PRAGMA journal_mode = DELETE")


def writing(engine: Engine) -> Engine:
    """The same connections, for transactions that write."""
    return engine.execution_options(treesearch_writes=True)


def plain(session: Session, query: Select[*tuple[Any, ...]]) -> Sequence[Row[*tuple[Any, ...]]]:
    """What a query for columns finds, past the mapper, which takes as long again as the database."""
    return session.connection().execute(query).all()


class OneWriter:
    """What a thread holds while it writes to a file; it waits as long for this as for another process.

    A file has one writer at a time. Whoever waits for it in SQLite looks again and again, with a connection of its own.
    """

    def __init__(self, busy_seconds: float) -> None:
        self._lock, self._patience = threading.Lock(), busy_seconds

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=self._patience):
            raise ArchiveError("the archive was being written to for too long; wait until that ends, then run again")

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def one_writer(place: Place, busy_seconds: float) -> AbstractContextManager[None]:
    """What a thread holds while it writes to a place; a server needs no such thing."""
    return OneWriter(busy_seconds) if place.path else nullcontext()


# ── SQLite ──────────────────────────────────────────────────────────────────────────────────────


def _open_working(place: Place, path: Path, busy_seconds: float) -> Engine:
    _refuse_folder(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArchiveError(
            f"the folder {path.parent} cannot be created ({error.strerror}); name another archive with --archive"
        ) from error

    def connect() -> sqlite3.Connection:
        connection = _connect(f"file:{quote(str(path))}?mode=rwc", busy_seconds)
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    with closing(connect()) as first:
        _enable_wal(first, busy_seconds)
    # Threads that write wait for their turn, and others for nothing: there is always a place in the pool.
    engine = create_engine(place.url, creator=connect, max_overflow=-1)
    event.listen(engine, "begin", _begin)
    return engine


def _open_recorded(place: Place, path: Path, busy_seconds: float) -> Engine:
    _refuse_folder(path)
    if not path.exists():
        raise ArchiveError(f"there is no archive at {path}; start a run there, or name another with --archive")
    engine = create_engine(place.url, creator=lambda: _connect(_recorded(path), busy_seconds), poolclass=NullPool)
    event.listen(engine, "begin", _begin)
    return engine


def _recorded(path: Path) -> str:
    """Immutable files are read without locks or side files. That is wrong while a writer's log lies beside the file:
    then its newest rows are in the log."""
    wal = path.with_name(path.name + "-wal")
    immutable = "" if wal.exists() and wal.stat().st_size else "&immutable=1"
    return f"file:{quote(str(path))}?mode=ro{immutable}"


def upgraded_copy(path: Path, upgrade: Callable[[Connection], None]) -> Engine:
    """An engine for reading a copy, in memory and upgraded, of a file that is older and has to stay as it is."""
    with closing(_connect(_recorded(path), busy_seconds=0)) as file:
        memory = _in_memory(file.serialize())
    once = create_engine("sqlite://", creator=lambda: memory, poolclass=StaticPool)
    event.listen(once, "begin", _begin)
    with once.begin() as connection:
        upgrade(connection)
    image = memory.serialize()
    once.dispose()

    def connect() -> sqlite3.Connection:
        connection = _in_memory(image)
        connection.execute("PRAGMA query_only = ON")  # a copy that took a row would lose it
        return connection

    # Every connection takes a copy of its own to make, so one is kept for whoever comes next.
    engine = create_engine("sqlite://", creator=connect, poolclass=QueuePool, pool_size=1, max_overflow=-1)
    event.listen(engine, "begin", _begin)
    return engine


def _in_memory(image: bytes) -> sqlite3.Connection:
    """A database of its own that starts as a file's bytes; not in WAL (https://sqlite.org/fileformat.html, 1.3.3),
    which memory cannot have."""
    connection = _connect(":memory:", busy_seconds=0)
    connection.deserialize(image[:18] + b"\1\1" + image[20:])
    return connection


def _refuse_folder(path: Path) -> None:
    if path.is_dir():
        raise ArchiveError(f"{path} is a folder; name a file in it, such as {path / 'archive.db'}")


def _connect(uri: str, busy_seconds: float) -> sqlite3.Connection:
    # Without an isolation level the driver begins no transactions of its own accord: `_begin` does.
    connection = sqlite3.connect(uri, uri=True, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("treesearch_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _enable_wal(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Switch the file to WAL. SQLite does not always apply its busy timeout to this, so wait here."""
    deadline = time.monotonic() + busy_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


# ── PostgreSQL ──────────────────────────────────────────────────────────────────────────────────


def _open_server(place: Place, read_only: bool, busy_seconds: float) -> Engine:
    options = f"-c lock_timeout={int(busy_seconds * 1000)}"
    if read_only:
        options += " -c default_transaction_read_only=on"
    query = {"connect_timeout": str(CONNECT_SECONDS), **place.url.query}
    query["options"] = " ".join(filter(None, (str(place.url.query.get("options", "")), options)))
    try:
        return create_engine(place.url.set(query=query), pool_pre_ping=True, max_overflow=-1)
    except ImportError as error:
        raise ArchiveError(
            f"the archive {place} needs a driver that is not installed; "
            "install treesearch[postgres], or name a file with --archive"
        ) from error
