"""Children that run the reference, forked from a process that has imported what they need (`forkserver.py`).

Each thread has servers of its own: a process dies with the thread that started it, and its children with it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import IO

from treesearch.evaluation.forkserver import MOST_AT_ONCE
from treesearch.evaluation.sandbox import Child, Limits, environment
from treesearch.evaluation.walls import Walls

SERVER = "treesearch.evaluation.forkserver"
KEPT = 2
"""Servers that wait for a thread's further requests, each for children of one environment."""

_here = threading.local()
"""Holds `servers`, oldest first, by the environment of their children and what they have imported."""


class Preloaded(Child):
    """A child that runs the `main` of a module of ours, without walls and limits."""

    process: Forked

    def __init__(
        self, module: str, modules: Sequence[str], *, descriptors: Sequence[int], variables: Mapping[str, str]
    ) -> None:
        """`modules` are imported before the fork, and so once for all children that have this environment."""
        self._modules = tuple(modules)
        super().__init__([module], descriptors=descriptors, variables=variables)

    def _start(
        self,
        command: Sequence[str],
        descriptors: Sequence[int],
        limits: Limits,
        walls: Walls | None,
        variables: Mapping[str, str] | None,
    ) -> Forked:
        return Forked(server(environment(variables), self._modules), command, descriptors, self._output.fileno())

    def _kill(self) -> None:
        if self.process.begun:  # one that has not, never will
            super()._kill()
        self.process.close()


class Forked:
    """The process of a child that a server forks as soon as it can, as a Popen would show it."""

    def __init__(self, server: Server, command: Sequence[str], descriptors: Sequence[int], output: int) -> None:
        """`command` is a module and its arguments; `output` a file for what it prints."""
        self._server = server  # which lives as long as its children
        self._pid: int | None = None
        self._code: int | None = None
        reader, writer = os.pipe()
        self.stdin: IO[bytes] | None = os.fdopen(writer, "wb")
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            wanted = {0: reader, 1: output, 2: output, **{number: number for number in descriptors}}
            server.ask(command, wanted, theirs)
        finally:
            os.close(reader)
            theirs.close()

    @property
    def begun(self) -> bool:
        self.poll()
        return self._pid is not None

    @property
    def pid(self) -> int:
        """Waits until there is one. Raises ProcessLookupError where the server died before."""
        while self._pid is None and self._code is None:
            self._hear()
        if self._pid is None:
            raise ProcessLookupError
        return self._pid

    def poll(self) -> int | None:
        while self._code is None and self._heard_within(0.0):
            self._hear()
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._code is None:
            if deadline is not None and not self._heard_within(max(deadline - time.monotonic(), 0.0)):
                raise subprocess.TimeoutExpired("a forked process", timeout or 0.0)
            self._hear()
        return self._code

    def close(self) -> None:
        """Let the server kill and reap it, if it has not ended."""
        self._code = -signal.SIGKILL if self._code is None else self._code
        self._link.close()

    def _hear(self) -> None:
        """The process id comes first, then how the process ended; with the server, its children die."""
        said = self._link.recv(64)
        if said and self._pid is None:
            self._pid = int(said)
        else:
            self._code = int(said) if said else -signal.SIGKILL

    def _heard_within(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._link, select.POLLIN)
        return bool(poll.poll(1e3 * seconds))


class Server:
    """A process that forks children."""

    def __init__(self, variables: Mapping[str, str], modules: Sequence[str]) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-m", SERVER, str(theirs.fileno()), " ".join(modules)]
            anything = Limits(descriptors=0)
            self._child = Child(command, limits=anything, descriptors=[theirs.fileno()], variables=variables)
        weakref.finalize(self, _close, self._child, self._control)

    @property
    def alive(self) -> bool:
        return self._child.process.poll() is None

    def ask(self, command: Sequence[str], wanted: Mapping[int, int], link: socket.socket) -> None:
        """For a child that has our descriptors under the numbers `wanted`; `link` is where it is told of."""
        given = [link.fileno(), *wanted.values()]
        for start in range(0, len(given), MOST_AT_ONCE):
            socket.send_fds(self._control, [b"+"], given[start : start + MOST_AT_ONCE])
        self._control.send(json.dumps({"command": list(command), "numbers": list(wanted)}).encode())


def _close(child: Child, control: socket.socket) -> None:
    control.close()
    child.close()


def server(variables: Mapping[str, str], modules: tuple[str, ...]) -> Server:
    """This thread's server for children of one environment."""
    kept: dict[object, Server] = _here.__dict__.setdefault("servers", {})
    key = (tuple(sorted(variables.items())), modules)
    found = kept.pop(key, None)
    kept[key] = found if found is not None and found.alive else Server(variables, modules)
    for surplus in list(kept)[:-KEPT]:
        del kept[surplus]
    return kept[key]
