"""Several threads and processes at once, and processes that die."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import treesearch
from treesearch.archive import Archive

if TYPE_CHECKING:
    from tests.archive.conftest import Samples

ROOT = Path(treesearch.__file__).parent.parent


def python(script: str, *arguments: str) -> subprocess.Popen[str]:
    """A process that runs the script with this treesearch; it talks through its standard streams."""
    command = [sys.executable, "-W", "error", "-c", script, *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def test_many_threads_write_and_read_at_once(archive: Archive, samples: Samples) -> None:
    run = samples.open(archive)

    def work(number: int) -> None:
        for round in range(5):
            kernel = samples.kernel(archive, run, round, f"{number}.0")
            archive.save_kernel(kernel)
            archive.save_evaluation(kernel.id, samples.verified())
            assert archive.kernel(kernel.id) == (run, kernel)

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(work, range(20)))
    entries = archive.entries(run.id)
    assert [entry.kernel.ordinal for entry in entries] == [f"{number}.0" for number in range(20)] * 5
    assert all(entry.verified for entry in entries)


def test_threads_that_open_one_run_get_the_same(archive: Archive, samples: Samples) -> None:
    barrier = threading.Barrier(8)

    def open_run(_: int) -> str:
        barrier.wait()
        return samples.open(archive).id

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(open_run, range(8)))) == 1
    assert len(archive.runs()) == 1


def test_threads_that_open_new_runs_get_one_each(archive: Archive, samples: Samples) -> None:
    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(lambda _: samples.open(archive, new=True).id, range(8)))
    assert len(ids) == 8


def test_processes_and_threads_can_create_one_archive_at_once(url: str) -> None:
    script = (
        "import sys; from treesearch.archive import Archive; import alembic.command; from sqlalchemy import orm\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "with Archive(sys.argv[1]) as archive: print(archive.runs())"
    )
    processes = [python(script, url) for _ in range(3)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    with ThreadPoolExecutor(4) as pool:
        for archive in pool.map(lambda _: Archive(url), range(4)):
            archive.close()
    assert [process.communicate() for process in processes] == [("()\n", "")] * 3


def test_a_saved_answer_survives_the_death_of_its_process(url: str, samples: Samples) -> None:
    script = (
        "import os, sys; from treesearch.archive import Archive; from treesearch.records import *\n"
        "archive = Archive(sys.argv[1])\n"
        "problem, device = Problem('p', 'source', Signature(())), Device('cpu', 'c', 1, 1)\n"
        "run = archive.open_run(problem, Config(('file/x',)), device)\n"
        "request = Request(run.id, 0, Stage.KERNEL, run.problem, '', '0.0', 'prompt')\n"
        "archive.save_answer(request, Answer('paid for', 'file/x'))\n"
        "os.kill(os.getpid(), 9)"
    )
    with python(script, url) as process:
        _, errors = process.communicate()
    assert (process.returncode, errors) == (-signal.SIGKILL, "")
    for read_only in (True, False):
        with Archive(url, read_only=read_only) as archive:
            (run,) = archive.runs()
            assert [answer.text for _, answer in archive.answers(run.id)] == ["paid for"]


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_two_processes_take_turns_writing(url: str, samples: Samples) -> None:
    script = (
        "import sys; from treesearch.archive import Archive; from treesearch.records import *\n"
        "archive = Archive(sys.argv[1]); run = archive.latest_run()\n"
        "for number in range(100):\n"
        "    request = Request(run.id, 0, Stage.KERNEL, run.problem, '', f'{sys.argv[2]}.{number}', 'prompt')\n"
        "    archive.save_answer(request, Answer('text', 'file/x'))\n"
        "archive.close()"
    )
    with Archive(url) as archive:
        run = samples.open(archive)
        processes = [python(script, url, str(number)) for number in range(2)]
        assert [process.communicate()[1] for process in processes] == ["", ""]
        assert len(archive.answers(run.id)) == 200


def test_threads_can_create_many_archives_at_once(tmp_path: Path) -> None:
    barrier = threading.Barrier(8)

    def create(number: int) -> None:
        barrier.wait()
        # Two threads for each of four files.
        with Archive(tmp_path / f"{number // 2}.db") as archive:
            assert archive.runs() == ()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(create, range(8)))
