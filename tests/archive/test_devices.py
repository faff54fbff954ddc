"""What is known of devices and problems grows as it is measured, and what was measured stays."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, create_engine, event, text

import treesearch.archive
from treesearch.archive import Archive
from treesearch.records import Device, Rate

if TYPE_CHECKING:
    from tests.archive.conftest import Samples

MIGRATIONS = Path(treesearch.archive.__file__).with_name("migrations")

FIRST_ROWS = (
    "INSERT INTO devices VALUES ('d1', 'cpu', 'Xeon', 2, 8589934592, '[\"avx2\"]', '[\"L2 1 MiB\"]')",
    "INSERT INTO problems VALUES ('p1', 'relu', 'class Model: ...', 0.01, 'float32', '[]')",
)
"""As the first schema had them, column by column."""


def described(device: Device) -> Device:
    """The same device before anybody measured it."""
    return Device(device.kind, device.name, device.cores, device.memory_bytes, device.features)


def test_figures_are_added_to_a_device_that_was_only_described(archive: Archive, samples: Samples) -> None:
    archive.save_device(described(samples.device))
    assert archive.device(samples.device.id) == described(samples.device)
    archive.save_device(samples.device)
    assert archive.device(samples.device.id) == samples.device


def test_a_run_adds_the_figures_of_its_device(archive: Archive, samples: Samples) -> None:
    archive.open_run(samples.problem, samples.config, described(samples.device))
    archive.open_run(samples.problem, samples.config, samples.device)
    assert archive.device(samples.device.id) == samples.device


def test_figures_once_stored_stay(archive: Archive, samples: Samples) -> None:
    archive.save_device(samples.device)
    again = replace(samples.device, bandwidth=1.0, rates=(Rate("tf32", 1.0),), software=("another",), clock_mhz=1)
    for later in (again, described(samples.device)):
        archive.save_device(later)
        archive.open_run(samples.problem, samples.config, later)
        assert archive.device(samples.device.id) == samples.device


def test_a_problems_operations_are_added_when_they_are_counted_and_stay(archive: Archive, samples: Samples) -> None:
    uncounted = replace(samples.problem, flops=None)
    seen = []
    for problem in (uncounted, samples.problem, uncounted):
        archive.open_run(problem, samples.config, samples.device)
        seen.append(archive.problem(problem.digest).flops)
    assert seen == [None, samples.problem.flops, samples.problem.flops]


def test_merging_adds_the_figures_that_the_target_lacks(archive: Archive, samples: Samples, tmp_path: Path) -> None:
    archive.open_run(replace(samples.problem, flops=None), samples.config, described(samples.device), new=True)
    with Archive(tmp_path / "source.db") as source:
        samples.open(source)
        run = samples.open(source, new=True)
        archive.merge(source, run.id)
    assert archive.device(samples.device.id) == samples.device
    assert archive.problem(samples.problem.digest) == samples.problem


def test_devices_come_with_that_of_the_newest_run_first_and_unused_ones_last_by_name(
    archive: Archive, samples: Samples
) -> None:
    assert archive.devices() == ()
    unused = [replace(samples.other_device, name=name) for name in ("Zen", "Atom")]
    for device in unused:
        archive.save_device(device)
    samples.open(archive)
    archive.open_run(samples.problem, samples.config, samples.other_device)
    assert archive.devices() == (samples.other_device, samples.device, *reversed(unused))
    samples.open(archive, new=True)
    assert archive.devices() == (samples.device, samples.other_device, *reversed(unused))


# ── from the first schema ───────────────────────────────────────────────────────────────────────


def first_schema(connection: Connection) -> None:
    """Make the tables that the first migration makes, with a row each."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, "0001")
    for statement in FIRST_ROWS:
        connection.execute(text(statement))


@pytest.fixture
def old(url: str) -> str:
    """URL of an archive in the first schema."""
    engine = create_engine(url if "://" in url else f"sqlite:///{url}")
    try:
        with engine.begin() as connection:
            first_schema(connection)
    finally:
        engine.dispose()
    return url


def test_rows_of_the_first_schema_are_read_as_not_measured(old: str) -> None:
    with Archive(old) as archive:
        (device,) = archive.devices()
        (problem,) = archive.problems()
    assert device == Device("cpu", "Xeon", 2, 8_589_934_592, ("avx2",), ("L2 1 MiB",))
    assert (problem.name, problem.tolerance, problem.flops) == ("relu", 0.01, None)


def test_an_upgraded_archive_takes_measured_devices(old: str, samples: Samples) -> None:
    with Archive(old) as archive:
        archive.save_device(samples.device)
        assert archive.device(samples.device.id) == samples.device


def test_the_first_schema_is_read_from_a_copy_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        first_schema(connection)
    engine.dispose()
    with Archive(path, read_only=True) as archive:
        assert archive.runs() == ()
    with closing(sqlite3.connect(path)) as untouched:
        assert untouched.execute("SELECT version_num FROM alembic_version").fetchall() == [("0001",)]


def test_whoever_reads_an_older_archive_again_and_again_copies_it_once(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        first_schema(connection)
    engine.dispose()
    copies: list[object] = []
    with Archive(path, read_only=True) as archive:
        event.listen(archive._engine, "connect", lambda *made: copies.append(made))
        for _ in range(5):
            assert [problem.name for problem in archive.problems()] == ["relu"]
    assert len(copies) == 1
