"""The version of a database's tables, and the way up to the newest."""

from __future__ import annotations

import threading
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from treesearch.archive.connect import Place, upgraded_copy, writing
from treesearch.errors import ArchiveError

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010", "0011", "0012")
"""Every schema this treesearch knows, oldest first; the last is current. A test compares it with migrations/."""

_LOCK_KEY = 0x7472656573  # "trees": what processes that migrate one PostgreSQL database agree on
_one_at_a_time = threading.Lock()  # Alembic keeps the migration under way in module globals


def ensure_schema(engine: Engine, place: Place, *, read_only: bool) -> Engine:
    """Migrate to the current schema, or raise ArchiveError where that cannot be; returns the engine to use.

    That is another one for a file that is open for reading only and older: then a copy in memory is migrated.
    """
    with engine.connect() as connection:
        revision = _revision(connection, place)
    if revision == REVISIONS[-1]:
        return engine
    if read_only and (revision is None or place.path is None):
        raise ArchiveError(_too_old(revision, place))
    with _one_at_a_time:
        if read_only and place.path:
            engine.dispose()
            return upgraded_copy(place.path, upgrade)
        with writing(engine).begin() as connection:
            _migrate(connection, place)
    return engine


def _too_old(revision: str | None, place: Place) -> str:
    if revision is None:
        return f"the archive {place} is empty; start a run there, or name another with --archive"
    return (
        f"the archive {place} was written by an older treesearch and is open for reading only; "
        "use it in a run once to upgrade it, or name another with --archive"
    )


def _migrate(connection: Connection, place: Place) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
    # Looked up again: whoever held the lock before may have migrated.
    if _revision(connection, place) != REVISIONS[-1]:
        upgrade(connection)


def upgrade(connection: Connection) -> None:
    """Run the migrations that are due, inside the connection's transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    folder = Path(__file__).with_name("migrations")
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _revision(connection: Connection, place: Place) -> str | None:
    """The schema's revision: None where there are no tables yet, "" where every migration is still due."""
    tables = inspect(connection).get_table_names()
    if "alembic_version" not in tables:
        if tables:
            raise ArchiveError(f"the database {place} holds something else; name another archive with --archive")
        return None
    revision = connection.scalar(text("SELECT version_num FROM alembic_version")) or ""
    if revision and revision not in REVISIONS:
        raise ArchiveError(
            f"the archive {place} was written by a newer treesearch; upgrade treesearch, or name another with --archive"
        )
    return str(revision)
