"""A process that has imported what its children need, and forks them, which spares each of them the imports.

Runs as `python -m treesearch.evaluation.forkserver CONTROL MODULES REPLIES`; `preloaded.py` holds the other end of the
socket CONTROL. Neither torch's pools nor CUDA may be started before a fork; OpenBLAS, which numpy may bring, ends its
threads by itself. Where an import has looked for GPUs through CUDA after all, which depends on torch's version and the
driver, children start over as programs of their own. Threads and malloc obey the environment that a process is started
with, so the server has the one that its children are to have.

A request is one datagram of JSON after those with its descriptors, the first of which is the child's link. Over that
the child's process id is told, and how it ended; it stays unreaped, and its id its own, until the other end is closed.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
from dataclasses import dataclass, field
from typing import Any

from treesearch.evaluation.inside.system import die_with

REQUEST_BYTES = 1 << 17
MOST_AT_ONCE = 250
"""Descriptors that one datagram may carry; the kernel's own limit is 253."""


def main() -> None:
    control, modules, replies = sys.argv[1:]
    os.close(int(replies))  # children have their own
    for module in modules.split():
        importlib.import_module(module)
    gc.freeze()  # a collection in a child would otherwise write to, and so copy, every page that holds an object
    if request := Server(socket.socket(fileno=int(control))).serve():
        request.run()


@dataclass
class Server:
    control: socket.socket
    links: dict[int, socket.socket] = field(default_factory=dict)
    """By the child's process id."""
    ends: dict[int, int] = field(default_factory=dict)
    """Process ids by the descriptor that tells of their end."""

    def serve(self) -> Request | None:
        """Fork for every request. Returns a request in the child that is to run it, and None once nobody can ask."""
        while True:
            ready = self._ready()
            if ready in self.ends:
                self._tell(ready)
            elif ready != self.control.fileno():
                self._reap(ready)
            elif (request := received(self.control)) is None:
                return None
            elif self._fork(request):
                return request

    def _ready(self) -> int:
        """A descriptor at which something has happened, one at a time, since it may change the others."""
        poll = select.poll()
        for descriptor in (self.control.fileno(), *self.ends, *(link.fileno() for link in self.links.values())):
            poll.register(descriptor, select.POLLIN)
        return poll.poll()[0][0]

    def _fork(self, request: Request) -> bool:
        """Whether this is the child, which has a session of its own and keeps nothing of the server's."""
        server, child = os.getpid(), os.fork()
        if child:
            self.links[child] = request.link
            self.ends[os.pidfd_open(child)] = child
            request.close()
            return False
        os.setsid()
        die_with(server)
        told(request.link, os.getpid())
        for link in (self.control, request.link, *self.links.values()):
            link.close()
        for end in self.ends:
            os.close(end)
        return True

    def _tell(self, end: int) -> None:
        """How a child ended, without reaping it."""
        child = self.ends.pop(end)
        os.close(end)
        found = os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        assert found is not None, "it has ended"
        told(self.links[child], found.si_status if found.si_code == os.CLD_EXITED else -found.si_status)

    def _reap(self, descriptor: int) -> None:
        """End the child of a link whose other end is closed, with its group."""
        child = next(child for child, link in self.links.items() if link.fileno() == descriptor)
        self.links.pop(child).close()
        with contextlib.suppress(ProcessLookupError):  # not a group of its own yet
            os.killpg(child, signal.SIGKILL)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        for end in [end for end, pid in self.ends.items() if pid == child]:
            del self.ends[end]
            os.close(end)


@dataclass
class Request:
    command: list[str]
    """A module, whose `main` is to be run, and its arguments."""
    numbers: list[int]
    """What the descriptors are to be called in the child."""
    descriptors: list[int]
    link: socket.socket

    def run(self) -> None:
        place(self.descriptors, self.numbers)
        if _lost_cuda():
            start = f"import importlib, sys; importlib.import_module({self.command[0]!r}).main()"
            os.execv(sys.executable, [sys.executable, "-c", start, *self.command[1:]])
        sys.argv = self.command
        importlib.import_module(self.command[0]).main()

    def close(self) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)


def _lost_cuda() -> bool:
    """Whether torch was imported, and says that a process before the fork has used CUDA, which this one then cannot."""
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda._is_in_bad_fork())


def received(control: socket.socket) -> Request | None:
    """The next request; None where nobody is left to send one."""
    descriptors: list[int] = []
    while True:
        text, more, _, _ = socket.recv_fds(control, REQUEST_BYTES, MOST_AT_ONCE)
        descriptors += more
        if not text:
            return None
        if text != b"+":
            asked: dict[str, Any] = json.loads(text)
            link, *others = descriptors
            return Request(asked["command"], asked["numbers"], others, socket.socket(fileno=link))


def told(link: socket.socket, number: int) -> None:
    try:
        link.send(str(number).encode())
    except OSError:  # whoever asked is gone, which the next look at the link shows
        return


def place(descriptors: list[int], numbers: list[int]) -> None:
    """Give open descriptors new numbers, each its own, and close the old ones."""
    now = dict(zip(numbers, descriptors, strict=True))
    for number in numbers:
        if now[number] == number:
            os.set_inheritable(number, True)
            continue
        for other, descriptor in now.items():
            if descriptor == number:
                now[other] = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 3)
        os.dup2(now[number], number)
        os.close(now[number])
        now[number] = number


if __name__ == "__main__":
    main()
