"""`cmd/COMMAND`: the prompt on standard input, the answer on standard output."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from treesearch.errors import ModelUnavailable, UnknownModel
from treesearch.models.base import ModelOptions, OnFailure
from treesearch.models.failures import Failure, Kind, examined, one_line
from treesearch.models.persistent import Persistent
from treesearch.models.questions import split_front_matter
from treesearch.records import Answer

PREFIX = "cmd/"
TAIL = 300
"""Characters of standard error that are quoted: its end says what went wrong."""
TIED = Path(__file__).with_name("tied.py")


class CommandModel(Persistent):
    """A program that reads a question and writes an answer, such as the command line of a coding agent.

    It is the user's own, so it runs in this process's folder and environment, keys included, without a sandbox. An
    answer may name who gave it, as those of `file/` do. A run that takes longer than `options.timeout_seconds` is ended
    with everything in its process group, and so is what still runs when the model is closed. Where this process is
    killed, the command gets SIGTERM.
    """

    def __init__(self, name: str, *, options: ModelOptions | None = None, on_failure: OnFailure | None = None) -> None:
        """`name` is `cmd/COMMAND`, split as a shell would, without expansion. Raises UnknownModel."""
        super().__init__(name, options, on_failure)
        self.words = _words(name)
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._closed = False

    def check(self) -> None:
        """Raises ModelUnavailable where there is no such command."""
        if shutil.which(self.words[0]) is None:
            raise ModelUnavailable(f"{self.name}: there is no command {self.words[0]}; install it, or check PATH")

    def close(self) -> None:
        """End what is running; nothing is started afterwards."""
        with self._lock:
            self._closed = True
            for process in self._running:
                _end(process)

    def _attempt(self, prompt: str) -> Answer | Failure:
        started = time.monotonic()
        try:
            with self._started() as process:
                out, err = process.communicate(prompt.encode(errors="replace"), self.options.timeout_seconds)
        except subprocess.TimeoutExpired:
            return Failure(Kind.TIMEOUT, f"no answer within {self.options.timeout_seconds:g} s")
        except OSError as error:
            return Failure(Kind.EXIT, f"{error.strerror or error}")
        if self._closed:
            raise ModelUnavailable(f"{self.name} was stopped before it had answered")
        return self._outcome(process.returncode, out, err, time.monotonic() - started)

    def _outcome(self, code: int, out: bytes, err: bytes, seconds: float) -> Answer | Failure:
        complaint = _tail(err)
        if code != 0:
            ended = f"exit code {code}" if code > 0 else f"ended by {signal.Signals(-code).name}"
            return Failure(Kind.EXIT, f"{ended}: {complaint}" if complaint else ended)
        given, text = split_front_matter(out.decode(errors="replace"))
        if not text.strip():
            return Failure(Kind.EMPTY, complaint)
        who, help_used = given.get("model", ""), given.get("help", "")
        return examined(Answer(text=text, model=self.name, answered_by=who, help=help_used, seconds=seconds))

    def _sentence(self, failure: Failure, attempts: int) -> str:
        tried = f"after {attempts} attempts" if attempts > 1 else "after one attempt"
        return f"{self.name} gave no answer {tried}, at last: {failure}; try the command by hand with a prompt"

    @contextmanager
    def _started(self) -> Iterator[subprocess.Popen[bytes]]:
        """The command in a process group of its own, which is ended where the block is left early."""
        pipe = subprocess.PIPE
        tied = [sys.executable, "-I", "-S", str(TIED), str(os.getpid()), *self.words]
        with subprocess.Popen(tied, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True) as process:
            try:
                self._keep(process)
                yield process
            except BaseException:  # its pipes are waited for next, so nothing of it may live on
                _end(process)
                raise
            finally:
                with self._lock:
                    self._running.discard(process)

    def _keep(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._running.add(process)
            if self._closed:
                _end(process)


def _words(name: str) -> list[str]:
    try:
        words = shlex.split(name.removeprefix(PREFIX))
    except ValueError as error:
        raise UnknownModel(f"{name!r} is no command line ({error}); write cmd/COMMAND, quoted as for a shell") from None
    if not words:
        raise UnknownModel(f"{name!r} names no command; write cmd/COMMAND, such as cmd/'agent --print'")
    return words


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _tail(err: bytes) -> str:
    """The end of what a command complained of, on one line."""
    said = err.decode(errors="replace").strip()
    return one_line(said[-TAIL:])
