"""Broken infrastructure ends in one sentence that says what to do."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import Engine, event

import treesearch
from treesearch.archive import Archive
from treesearch.errors import ArchiveError
from treesearch.records import Run

if TYPE_CHECKING:
    from tests.archive.conftest import Cluster, Samples


ROOT = Path(treesearch.__file__).parent.parent


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "archive.db"


@pytest.fixture
def filled(path: Path, samples: Samples) -> Run:
    """A run in a closed archive at `path`."""
    with Archive(path) as archive:
        return samples.fill(archive)


@contextlib.contextmanager
def complaint(*words: str) -> Iterator[None]:
    """An ArchiveError of one line that holds all of the words."""
    with pytest.raises(ArchiveError) as caught:
        yield
    message = str(caught.value)
    assert "\n" not in message
    assert [word for word in words if word not in message] == []


# ── locks ───────────────────────────────────────────────────────────────────────────────────────


def test_a_locked_file_says_that_another_process_writes(path: Path, filled: Run, samples: Samples) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other, Archive(path, _busy=0.05) as archive:
        other.execute("BEGIN IMMEDIATE")
        with complaint(str(path), "locked by another process", "run again"):
            samples.open(archive, new=True)
        assert archive.runs() == (filled,)
        other.execute("COMMIT")
        assert samples.open(archive, new=True) in archive.runs()


def test_a_lock_that_is_given_up_in_time_is_waited_for(path: Path, filled: Run, samples: Samples) -> None:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    with contextlib.closing(connection) as other, Archive(path) as archive:
        other.execute("BEGIN IMMEDIATE")
        threading.Timer(0.3, lambda: other.execute("COMMIT")).start()
        assert samples.open(archive, new=True) in archive.runs()


def test_a_file_that_someone_reads_is_waited_for_before_it_becomes_an_archive(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    with contextlib.closing(connection) as other:
        other.executescript("CREATE TABLE t (x); DROP TABLE t; BEGIN")
        other.execute("SELECT * FROM sqlite_master").fetchall()
        with complaint("locked by another process"):
            Archive(path, _busy=0.05)
        threading.Timer(0.3, lambda: other.execute("COMMIT")).start()
        with Archive(path) as archive:
            assert archive.runs() == ()


def test_a_locked_server_says_that_another_process_writes(cluster: Cluster, samples: Samples) -> None:
    import psycopg

    url = cluster.create()
    database = url.partition("?")[0].split("/")[-1]
    with Archive(url, _busy=0.05) as archive:
        run = samples.open(archive)
        with psycopg.connect(host=str(cluster.folder), user="postgres", dbname=database) as other:
            other.execute("LOCK TABLE problems")
            with complaint("locked by another process"):
                samples.open(archive)
        assert samples.open(archive) == run


# ── places that cannot be written or read ───────────────────────────────────────────────────────


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder where permission bits count, even for tests that root runs."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    root = os.geteuid() == 0
    if root:
        os.chown(folder, 65534, 65534)
        os.seteuid(65534)
    try:
        yield folder
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o777)
        shutil.rmtree(folder)


def test_a_read_only_file_cannot_be_written(unprivileged: Path, samples: Samples) -> None:
    path = unprivileged / "archive.db"
    Archive(path).close()
    path.chmod(0o444)
    with complaint(str(path), "cannot be written", "--archive"), Archive(path) as archive:
        samples.open(archive)


def test_a_read_only_folder_cannot_hold_a_new_archive(unprivileged: Path) -> None:
    unprivileged.chmod(0o555)
    with complaint("cannot be opened", "permissions", "--archive"):
        Archive(unprivileged / "archive.db")
    with complaint("cannot be created", "Permission denied", "--archive"):
        Archive(unprivileged / "deeper" / "archive.db")


def test_a_recorded_archive_in_a_read_only_folder_can_be_read(unprivileged: Path, samples: Samples) -> None:
    path = unprivileged / "archive.db"
    with Archive(path) as archive:
        run = samples.fill(archive)
    path.chmod(0o444)
    unprivileged.chmod(0o555)
    with Archive(path, read_only=True) as archive:
        assert archive.runs() == (run,)


def test_a_folder_in_place_of_the_file_is_named(tmp_path: Path) -> None:
    for read_only in (False, True):
        with complaint(str(tmp_path), "is a folder", "archive.db"):
            Archive(tmp_path, read_only=read_only)


def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with complaint(str(tmp_path / "file"), "cannot be created", "--archive"):
        Archive(tmp_path / "file" / "archive.db")


def test_reading_where_nothing_is_creates_nothing(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "archive.db"
    with complaint("there is no archive at", str(path), "start a run"):
        Archive(path, read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_named_and_the_archive_stays_whole(path: Path, filled: Run, samples: Samples) -> None:
    def limit(connection: sqlite3.Connection, _: object) -> None:
        connection.execute("PRAGMA max_page_count = 1")  # as many as there are now

    event.listen(Engine, "connect", limit)
    try:
        with Archive(path) as archive, complaint(str(path), "disk is full", "free some space"):
            archive.save_answer(samples.request(filled, 7), samples.answer(random.Random(0).randbytes(500_000).hex()))
    finally:
        event.remove(Engine, "connect", limit)
    with Archive(path) as archive:
        assert archive.answer(samples.request(filled, 7).id) is None
        assert archive.runs() == (filled,)


# ── files that are something else ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize("read_only", [False, True])
def test_garbage_is_no_archive(path: Path, read_only: bool) -> None:
    garbage = b"not a database at all" * 1000
    path.write_bytes(garbage)
    with complaint(str(path), "no treesearch archive, or a damaged one"):
        Archive(path, read_only=read_only)
    assert path.read_bytes() == garbage


def test_a_damaged_page_is_reported(path: Path, filled: Run) -> None:
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    with complaint("damaged"), Archive(path, read_only=True) as archive:
        archive.entries(filled.id)


@pytest.mark.parametrize("read_only", [False, True])
def test_someone_elses_database_is_left_alone(path: Path, read_only: bool) -> None:
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
        other.commit()
    with complaint(str(path), "holds something else"):
        Archive(path, read_only=read_only)
    with contextlib.closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("bookmarks",)]


@pytest.mark.parametrize("read_only", [False, True])
def test_the_archive_of_a_newer_treesearch_is_refused(path: Path, filled: Run, read_only: bool) -> None:
    with contextlib.closing(sqlite3.connect(path)) as newer:
        newer.execute("UPDATE alembic_version SET version_num = '9999'")
        newer.commit()
    with complaint(str(path), "newer treesearch", "upgrade treesearch", "--archive"):
        Archive(path, read_only=read_only)


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_an_older_archive_is_read_without_being_upgraded(path: Path, journal: str, samples: Samples) -> None:
    with contextlib.closing(sqlite3.connect(path)) as older:
        older.execute(f"PRAGMA journal_mode = {journal}")
        older.execute("CREATE TABLE alembic_version (version_num VARCHAR(32))")
        older.commit()
    before = path.read_bytes()
    with Archive(path, read_only=True) as archive:
        assert archive.runs() == ()
        with complaint(str(path), "cannot be written"):
            archive.save_device(samples.device)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    with Archive(path) as upgraded:
        assert upgraded.runs() == ()
    with Archive(path, read_only=True) as upgraded:
        assert upgraded.runs() == ()


def test_an_empty_file_is_filled_or_refused(path: Path) -> None:
    path.touch()
    with complaint(str(path), "is empty", "start a run"):
        Archive(path, read_only=True)
    assert path.read_bytes() == b""
    with Archive(path) as archive:
        assert archive.runs() == ()


# ── URLs and servers ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://me:secret@host:port/db", "malformed"),
        ("sqlite:archive.db", "malformed"),
        ("postgresql+psycopg:/db", "malformed"),
        ("mysql://me:secret@host/db", "cannot live in mysql"),
        ("sqlite://", "needs a file"),
        ("sqlite:///:memory:", "needs a file"),
        ("sqlite:///file:x?mode=memory&uri=true", "needs a file"),
        ("postgresql+nothing://me:secret@host/db", "through psycopg"),
    ],
)
def test_a_url_that_cannot_be_used_is_explained(
    url: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArchiveError, match=words) as caught:
        Archive(url)
    assert "secret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_an_unreachable_server_is_named_without_its_password(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    url = f"postgresql://me:secret@/archive?host={tmp_path}"
    with complaint("me:***@", "cannot be reached", "start its server"):
        Archive(url)
    with pytest.raises(ArchiveError) as caught:
        Archive(url)
    assert "secret" not in str(caught.value)


def test_a_missing_driver_is_named() -> None:
    script = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from treesearch.archive import Archive; from treesearch.errors import ArchiveError\n"
        "try: Archive('postgresql://me:secret@host/db')\n"
        "except ArchiveError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "install treesearch[postgres]" in done.stdout
    assert "secret" not in done.stdout


def test_a_database_that_the_server_does_not_have_is_named(cluster: Cluster) -> None:
    with complaint("/absent", "does not exist"):
        Archive(cluster.url("absent"))


def test_a_server_that_went_away_is_reached_again(cluster: Cluster, samples: Samples) -> None:
    with Archive(cluster.create()) as archive:
        run = samples.open(archive)
        cluster.execute(
            "postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'archive%'"
        )
        assert archive.runs() == (run,)


# ── reading only ────────────────────────────────────────────────────────────────────────────────


def test_writing_to_an_archive_that_is_open_for_reading_is_refused(url: str, samples: Samples) -> None:
    with Archive(url) as archive:
        run = samples.open(archive)
    with Archive(url, read_only=True) as archive:
        with complaint("cannot be written"):
            samples.open(archive, new=True)
        assert archive.runs() == (run,)


@pytest.mark.parametrize("name", ["archive.db", "a b?c=d&mode=rw#e%41ü.db"])
def test_reading_leaves_the_file_as_it_was_and_nothing_beside_it(tmp_path: Path, samples: Samples, name: str) -> None:
    path = tmp_path / name
    with Archive(path) as archive:
        run = samples.fill(archive)
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert list(tmp_path.iterdir()) == [path]
    with Archive(path, read_only=True) as archive:
        assert len(archive.entries(run.id)) == 3
        assert list(tmp_path.iterdir()) == [path]
    assert list(tmp_path.iterdir()) == [path]
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_a_reader_sees_what_a_writer_that_still_runs_has_saved(path: Path, samples: Samples) -> None:
    with Archive(path) as writer:
        first = samples.open(writer)
        with Archive(path, read_only=True) as reader:
            assert reader.runs() == (first,)
            second = samples.open(writer, new=True)
            assert reader.runs() == (second, first)


# ── names of archives ───────────────────────────────────────────────────────────────────────────


def test_a_path_and_its_url_are_the_same_archive(path: Path, filled: Run) -> None:
    for name in (path, str(path), f"sqlite:///{path}"):
        with Archive(name, read_only=True) as archive:
            assert archive.runs() == (filled,)
            assert archive.url == f"sqlite:///{path}"


def test_the_url_of_a_server_hides_its_password(cluster: Cluster) -> None:
    with Archive(cluster.create()) as archive:
        assert archive.url.startswith("postgresql+psycopg://postgres:***@/archive")


def test_the_default_is_a_hidden_folder_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Archive().close()
    assert (tmp_path / ".treesearch" / "archive.db").is_file()
