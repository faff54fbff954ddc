"""A sealed archive is one file that reads the same and leaves nothing beside it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from treesearch.archive import Archive

if TYPE_CHECKING:
    from tests.archive.conftest import Samples


def test_sealing_takes_a_file_out_of_wal_and_keeps_its_rows(tmp_path: Path, samples: Samples) -> None:
    path = tmp_path / "archive.db"
    with Archive(path) as archive:
        run = samples.open(archive)
        archive.seal()
        assert archive.run(run.id) == run

    with Archive(path) as archive:
        archive.seal()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert [file.name for file in tmp_path.iterdir()] == ["archive.db"]
    with Archive(path, read_only=True) as archive:
        assert archive.runs() == (run,)
