"""Start a command behind walls: `python confine.py SETTINGS COMMAND…` puts them up and becomes the command.

SETTINGS is JSON; `treesearch.evaluation.walls` writes it. A program of its own, because limits, namespaces and filters
cannot be set safely between fork and exec in a process that has threads. One or two processes may stand between the
caller and the command and wait: they take the command's group along when the caller dies, and are PID 1 of its
namespace.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
from typing import Any

sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3)))

from treesearch.evaluation.inside import landlock, namespaces, seccomp, system

PR_SET_NO_NEW_PRIVS = 38
LIMITS = (
    (resource.RLIMIT_AS, "memory"),
    (resource.RLIMIT_DATA, "data"),
    (resource.RLIMIT_FSIZE, "file"),
    (resource.RLIMIT_NPROC, "tasks"),
)


def main() -> None:
    settings: dict[str, Any] = json.loads(sys.argv[1])
    system.die_with(settings["parent"])
    os.umask(0o022)
    join_cgroup(settings["cgroup"])
    for path in settings["writable"] if settings["user"] is not None else ():
        os.chown(path, settings["user"], -1)
    namespaces.unshare(settings["namespaces"])
    first = "pid" in settings["namespaces"]
    if settings["supervised"] or first:
        supervise(first=first)
    put_up_walls(settings)
    os.execvp(sys.argv[2], sys.argv[2:])


def put_up_walls(settings: dict[str, Any]) -> None:
    readable, writable, devices = settings["readable"], settings["writable"], settings["devices"]
    if "mount" in settings["namespaces"]:
        proc = "pid" in settings["namespaces"]
        copied = [(source, place) for source, place in settings["copied"]]
        namespaces.enter_root(readable, writable, devices, copied, settings["temporary"], settings["user"], proc=proc)
        writable = [*writable, "/tmp", "/dev/shm", *(place for _, place in copied)]
    limit(settings)
    if settings["walls"]:
        namespaces.drop_privileges(settings["user"])
        system.die_with(0)  # changing the user forgot it
    system.library_call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    walls = {name: name in settings["walls"] for name in ("files", "network", "processes")}
    if settings["landlock"]:
        # CUDA names its threads through /proc, and does not start where that cannot be written.
        landlock.restrict(readable, [*writable, *devices, "/proc"], **walls)
    if settings["seccomp"]:
        paths = "mount" not in settings["namespaces"]
        seccomp.install(seccomp.at_start(network=walls["network"], paths=paths))


def join_cgroup(path: str) -> None:
    if path:
        with open(os.path.join(path, "cgroup.procs"), "w") as file:
            file.write(str(os.getpid()))


def supervise(*, first: bool) -> None:
    """Fork; the child returns, and the parent waits for it and ends as it does.

    `first`: the child would be the first process of a PID namespace, which hears no signal from within and so cannot
    end by one; it waits in its turn, and tells how what it started has ended.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        keep(reader)
        if not first:  # a namespace ends with its first process; and what is stopped would never hear of a SIGTERM
            signal.signal(signal.SIGTERM, lambda *_: end_group())
            system.library_call("prctl", system.PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        told = os.read(reader, 16)
        status = await_end(child)
        end_as(int(told) if told else status)
    system.die_with(0)
    os.close(reader)
    if unread(writer):
        os._exit(1)  # the parent had ended before that
    if first and (inner := os.fork()):
        keep(writer)
        os.write(writer, str(await_end(inner)).encode())
        os._exit(0)
    os.close(writer)


def unread(writer: int) -> bool:
    """Whether nobody holds the other end of a pipe."""
    poll = select.poll()
    poll.register(writer, 0)
    return bool(poll.poll(0))


def end_group() -> None:
    """Kill the whole group, if it is this process's own."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def keep(descriptor: int) -> None:
    """Close every descriptor but this and the standard ones: who waits must hold no pipe open."""
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, 1 << 16)


def await_end(child: int) -> int:
    """The wait status of `child`; whatever else ends meanwhile, as it may below the first process of a namespace, is
    reaped."""
    while True:
        ended, status = os.wait()
        if ended == child:
            return status


def end_as(status: int) -> None:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def limit(settings: dict[str, Any]) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if settings["descriptors"]:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(settings["descriptors"], most),) * 2)
    for name, key in LIMITS:
        if settings[key]:
            resource.setrlimit(name, (settings[key],) * 2)


if __name__ == "__main__":
    main()
