"""What attacks look for, planted while the audit runs, so that "it could have reached it" is a fact.

None of it is worth anything. What is planted is taken away again at the end, Ctrl-C included.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import re
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

VARIABLE = "TREESEARCH_AUDIT_SECRET"
FILE = "treesearch-audit-secret"
"""Lies in the user's home folder."""
PORT = 47123
"""Something listens there on 127.0.0.1."""
SECRET = re.compile(r"(?:[0-9a-f]{32})?")
"""What that file holds, or nothing yet."""
LISTENING = 128
WAITS = "import sys; sys.stdin.read()"
"""A program that does nothing until whoever started it is gone."""


@dataclass
class Traps:
    """What was planted, and what could not be."""

    secret: str
    file: Path | None = None
    victim: subprocess.Popen[bytes] | None = None
    notes: tuple[str, ...] = ()
    """What is missing, one sentence each: attacks that look for it prove less."""

    def harm(self) -> str:
        """What a kernel did to what was planted, or nothing; what it broke is planted anew."""
        done = []
        if self.victim is not None and self.victim.poll() is not None:
            done.append("a process outside its sandbox was ended")
            _end(self.victim)
            self.victim = _victim()
        if self.file is not None and _text(self.file) != self.secret:
            done.append("a file in the home folder was changed")
            self.file.write_text(self.secret)
        return " and ".join(done)


@contextmanager
def planted() -> Iterator[Traps]:
    """An environment variable, a file in the home folder, a listening socket and an idle process of this user."""
    traps = Traps(secrets.token_hex(16))
    with ExitStack() as stack:
        stack.enter_context(_variable(traps.secret))
        stack.enter_context(_file(traps))
        stack.enter_context(_listener(traps))
        stack.enter_context(_process(traps))
        yield traps


def home() -> Path:
    """The user's home folder as the system knows it, whatever $HOME says: attacks cannot see that."""
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return Path.home()


@contextmanager
def _variable(secret: str) -> Iterator[None]:
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = secret
    try:
        yield
    finally:
        del os.environ[VARIABLE]
        if before is not None:
            os.environ[VARIABLE] = before


@contextmanager
def _file(traps: Traps) -> Iterator[None]:
    """One that an audit left which was killed is taken over; any other that is already there stays as it is, and serves
    as well."""
    path = home() / FILE
    try:
        file = open(path, "a", encoding="utf-8")  # noqa: SIM115 — held open, and locked, as long as it lies there
    except OSError as error:
        traps.notes += (f"There is no {path}: {error.strerror}.",)
        yield
        return
    with file:
        if not _locked(file) or not SECRET.fullmatch(_text(path)):
            yield
            return
        path.write_text(traps.secret)
        traps.file = path
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _locked(file: TextIO) -> bool:
    """Whether nobody else had it locked."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def _listener(traps: Traps) -> Iterator[None]:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", PORT))
            listener.listen(LISTENING)
        except OSError as error:
            traps.notes += (f"Port {PORT} could not be listened on: {error.strerror}.",)
        yield


@contextmanager
def _process(traps: Traps) -> Iterator[None]:
    traps.victim = _victim()
    try:
        yield
    finally:
        _end(traps.victim)


def _victim() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-I", "-S", "-c", WAITS]
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)  # deaf to the terminal's Ctrl-C


def _end(victim: subprocess.Popen[bytes]) -> None:
    victim.kill()
    victim.wait()
    if victim.stdin is not None:
        with contextlib.suppress(OSError):
            victim.stdin.close()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
