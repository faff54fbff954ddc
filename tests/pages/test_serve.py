"""The command that serves, as it is typed."""

from __future__ import annotations

import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.pages.serving import Asked, told
from tests.pages.stock import Stock, fill
from tests.steps import scripted

COMMAND = (sys.executable, "-c", "from treesearch.cli import main; main()", "serve")


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Stock:
    return fill(tmp_path_factory.mktemp("typed") / "archive.db", finished=False)


@contextmanager
def typed(stock: Stock, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The running command, and the address that it printed."""
    command = [*COMMAND, "--archive", str(stock.path), "--port", "0", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def test_ctrl_c_ends_it_in_good_order_although_somebody_listens(stock: Stock) -> None:
    path = f"/runs/{stock.run.id}/events"
    with typed(stock) as (process, url), Asked(urlsplit(url).port or 0).events(path) as stream:
        assert told(stream)
        process.send_signal(signal.SIGINT)
        assert stream.read().replace(b":\n\n", b"") == b"\n"
        assert process.wait(60) == 0
        assert process.stderr
        assert process.stderr.read() == "Ctrl-C ends it.\n"


def test_it_may_be_exposed_only_on_purpose_and_with_a_token(stock: Stock) -> None:
    refused = scripted.typed("serve", "--host", "0.0.0.0", "--archive", str(stock.path), cwd=stock.path.parent)
    assert refused.returncode == 2
    assert "add --expose" in refused.stderr
    with typed(stock, "--host", "0.0.0.0", "--expose") as (_, url):
        place = urlsplit(url)
        assert place.port
        asked = Asked(place.port)
        assert asked.get("/").status == 403
        assert asked.get(f"/?{place.query}").status == 303


def test_a_port_that_is_taken_is_said_to_be(stock: Stock) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = scripted.typed("serve", "--port", port, "--archive", str(stock.path), cwd=stock.path.parent)
    assert done.returncode == 2
    assert f"Port {port} is taken" in done.stderr


def test_an_archive_that_is_named_must_be_there(tmp_path: Path) -> None:
    done = scripted.typed("serve", "--port", "0", "--archive", "absent.db", cwd=tmp_path)
    assert done.returncode == 1
    assert "there is no archive at" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_archive_of_a_newer_treesearch_is_said_to_be_one(stock: Stock, tmp_path: Path) -> None:
    shutil.copy(stock.path, tmp_path / "newer.db")
    with closing(sqlite3.connect(tmp_path / "newer.db", isolation_level=None)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    done = scripted.typed("serve", "--port", "0", "--archive", "newer.db", cwd=tmp_path)
    assert done.returncode == 1
    assert "was written by a newer treesearch" in done.stderr
