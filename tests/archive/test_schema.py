"""The tables that migrations make are the tables that the code uses, and people can query them."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, inspect

import treesearch
from treesearch.archive import Archive, migrate
from treesearch.archive.schema import Base

if TYPE_CHECKING:
    from tests.archive.conftest import Samples

PACKAGE = Path(treesearch.__file__).parent


def test_migrating_from_nothing_gives_the_tables_of_the_code(archive: Archive, url: str) -> None:
    engine = create_engine(url if "://" in url else f"sqlite:///{url}")
    try:
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            assert compare_metadata(context, Base.metadata) == []
            found = {name: inspect(connection).get_pk_constraint(name) for name in Base.metadata.tables}
    finally:
        engine.dispose()
    keys = {name: table.primary_key.columns.keys() for name, table in Base.metadata.tables.items()}
    assert {name: constraint["constrained_columns"] for name, constraint in found.items()} == keys


def test_the_known_revisions_are_those_in_the_package() -> None:
    config = Config()
    config.set_main_option("script_location", str(PACKAGE / "archive" / "migrations"))
    walked = ScriptDirectory.from_config(config).walk_revisions()
    assert tuple(script.revision for script in walked) == migrate.REVISIONS[::-1]


def test_importing_the_room_does_not_import_sqlalchemy() -> None:
    script = "import sys, treesearch.archive as a; assert 'sqlalchemy' not in sys.modules; a.Archive"
    subprocess.run([sys.executable, "-c", script], cwd=PACKAGE.parent, check=True)


def test_the_room_offers_nothing_but_what_it_names() -> None:
    import treesearch.archive as room

    with pytest.raises(AttributeError, match="no attribute 'store_everything'"):
        _ = room.store_everything


def test_people_can_query_times_and_digests_with_plain_sql(tmp_path: Path, samples: Samples) -> None:
    with Archive(tmp_path / "archive.db") as archive:
        run = samples.fill(archive)
        first = archive.entries(run.id)[0].kernel
    query = (
        "SELECT kernels.digest, milliseconds, eager_milliseconds, compile_milliseconds, json_array_length(samples), "
        "typeof(seed), seed FROM evaluations JOIN kernels ON kernels.id = kernel WHERE status = 'verified'"
    )
    with contextlib.closing(sqlite3.connect(tmp_path / "archive.db")) as connection:
        rows = connection.execute(query).fetchall()
    assert set(rows) == {(first.digest, 0.2, 1.125, 0.7, 3, "integer", 2**63 - 1)}


def test_a_writable_archive_is_in_wal_mode(tmp_path: Path) -> None:
    Archive(tmp_path / "archive.db").close()
    with contextlib.closing(sqlite3.connect(tmp_path / "archive.db")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_every_migration_is_numbered_in_order() -> None:
    names = sorted(file.name for file in (PACKAGE / "archive" / "migrations" / "versions").glob("0*.py"))
    assert [re.match(r"(\d{4})_[a-z_]+\.py", name)[1] for name in names] == list(migrate.REVISIONS)  # type: ignore[index]
