"""What reading and writing ask of the database: nothing twice, and no connection that another thread's would do for."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import event

from treesearch.archive import Archive
from treesearch.errors import ArchiveError

if TYPE_CHECKING:
    from tests.archive.conftest import Samples


@contextmanager
def noted(archive: Archive, name: str) -> Iterator[list[tuple[object, ...]]]:
    """The arguments of every event of that name that the archive's engine has inside the block."""
    found: list[tuple[object, ...]] = []

    def note(*arguments: object) -> None:
        found.append(arguments)

    event.listen(archive._engine, name, note)
    yield found
    event.remove(archive._engine, name, note)


def test_where_nothing_is_new_neither_kernels_nor_verdicts_are_listed(archive: Archive, samples: Samples) -> None:
    run = samples.fill(archive)
    archive.growing(run.id)
    with noted(archive, "before_cursor_execute") as executed:
        archive.growing(run.id)
        said = " ".join(str(statement) for _, _, statement, *_ in executed)
    assert "count(*)" in said
    assert "kernels.id" not in said
    assert "evaluations.id" not in said


def test_the_statement_that_inserts_into_a_table_is_made_once(archive: Archive, samples: Samples) -> None:
    run = samples.fill(archive)
    with noted(archive, "before_execute") as executed:
        for place in range(3):
            archive.save_kernel(samples.kernel(archive, run, 7, f"{place}.0"))
        inserted = [statement for _, statement, *_ in executed if str(statement).startswith("INSERT INTO kernels")]
    assert len(inserted) == 3
    assert all(one is inserted[0] for one in inserted)


def test_threads_that_write_to_a_file_do_it_one_after_another(samples: Samples, tmp_path: Path) -> None:
    with Archive(tmp_path / "archive.db") as archive:
        run = samples.open(archive)
        kernels = [samples.kernel(archive, run, 0, f"{place}.0") for place in range(100)]
        with noted(archive, "connect") as connections, ThreadPoolExecutor(50) as pool:
            list(pool.map(archive.save_kernel, kernels))
        assert len(archive.entries(run.id)) == len(kernels)
        assert len(connections) <= 1


def test_a_turn_that_does_not_come_is_not_waited_for_without_end(samples: Samples, tmp_path: Path) -> None:
    with Archive(tmp_path / "archive.db", _busy=0.05) as archive:
        run = samples.open(archive)
        kernel = samples.kernel(archive, run)
        with ThreadPoolExecutor(1) as pool, archive._writing(), pytest.raises(ArchiveError, match="for too long"):
            pool.submit(archive.save_kernel, kernel).result()
        archive.save_kernel(kernel)
        assert [entry.kernel for entry in archive.entries(run.id)] == [kernel]
