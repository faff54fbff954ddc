"""Filters of system calls, as small BPF programs. What is refused fails with EPERM, and the caller goes on."""

from __future__ import annotations

import errno
import signal
import struct
from collections.abc import Iterable
from typing import NamedTuple

from treesearch.evaluation.inside import lockdown, system

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""AUDIT_ARCH_*: calls in another convention, such as 32-bit ones, have other numbers and end the process."""

ALLOW, KILL, REFUSE, ABSENT = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
"""Offsets in struct seccomp_data."""
X32 = 0x40000000

CLONE_THREAD, CLONE_NEW = 0x00010000, 0x7E020000
AF_UNIX = 1
PR_SET_NAME, PR_GET_NAME, PR_SET_VMA = 15, 16, 0x53564D41

ALWAYS = (
    "unshare setns mount umount2 pivot_root chroot open_tree move_mount fsopen fsconfig fsmount mount_setattr "
    "ptrace process_vm_readv process_vm_writev process_madvise pidfd_getfd kcmp bpf perf_event_open userfaultfd keyctl "
    "add_key request_key init_module finit_module delete_module kexec_load reboot swapon swapoff io_uring_setup "
    "io_uring_enter io_uring_register name_to_handle_at open_by_handle_at fanotify_init syslog personality"
).split()
"""Refused to every child behind walls."""
NETWORK = "socket socketpair connect bind listen accept accept4".split()
PROCESSES = (
    "fork vfork execve execveat rt_sigqueueinfo rt_tgsigqueueinfo pidfd_open pidfd_send_signal tkill setsid setpgid "
    "shmget shmat shmctl msgget semget mq_open"
).split()
"""Refused, beside those that depend on their arguments, to a child that needs no process but its own."""
SIGNALS = "rt_sigaction setitimer alarm timer_create timerfd_create signalfd4 io_setup rseq".split()
"""Ways to have code run when something happens, such as a question that arrives."""
WATCHING = (
    "inotify_init inotify_init1 inotify_add_watch fanotify_mark cachestat fadvise64 readahead preadv2 pwritev2".split()
)
"""Ways to see what other processes do with files, or what an earlier process has left in the page cache."""
SCHEDULING = "sched_setscheduler sched_setparam sched_setattr setpriority ioprio_set".split()
"""Ways to have the thread that starts a clock wait for others, which work meanwhile on what it is to time."""
TO_ITSELF = 0, signal.SIGABRT
"""Signals that a process may send to its own. SIGCONT is none of them: it takes back a SIGSTOP that is under way."""
SET_FLAGS, SET_OWNER, SET_SIGNAL, SET_OWNER_EXTENDED, NOTIFY = 4, 8, 10, 15, 1026
"""Commands of fcntl that have the kernel send a signal when there is something to read."""
PROT_EXEC = 4
MADV_REMOVE = 9
"""Advice to take shared pages away, so that whoever reads an output next has its zeros made then."""
WRITING = 3
"""Bits of what a file is opened for: to be written, or to be read and written."""
ASYNCHRONOUS = 0x5452
"""The request of ioctl that does so, FIOASYNC."""


class Rule(NamedTuple):
    """What becomes of a call. With `argument`, the place of one of its arguments, some of them pass."""

    name: str
    action: int = REFUSE
    argument: int | None = None
    allowed: tuple[int, ...] = ()
    """The call passes if its argument is one of these."""
    refused: tuple[int, ...] = ()
    """The call passes unless its argument is one of these."""
    needed: int = 0
    """The call passes if its argument has this bit."""
    forbidden: int = 0
    """The call passes if its argument has none of these bits."""


def at_start(*, network: bool, paths: bool) -> list[Rule]:
    """Rules for whatever runs behind walls, compilers included. `network`: whether that is to be kept out.

    `paths`: sockets of this machine's services can be found in the file system, so that none may be connected to.
    """
    rules = [Rule(name) for name in ALWAYS]
    # What clone3 asks for lies in memory, where no filter can look; libc then falls back to clone.
    rules += [Rule("clone", argument=0, forbidden=CLONE_NEW), Rule("clone3", ABSENT)]
    if network:
        rules += [Rule("socket", argument=0, allowed=(AF_UNIX,))]
        rules += [Rule("connect")] if paths else []
    return rules


def for_kernel(*, network: bool, processes: bool, signals: bool, code_is_known: bool = False) -> list[Rule]:
    """Rules for a process that is about to load a candidate; each argument says whether there is to be such a wall.

    `signals`: nothing else keeps the candidate from signalling other processes, so that it may not even signal itself.
    `code_is_known`: nor may it open a file to write to, as its own memory is one; `once_loaded` is to follow.
    """
    rules = [Rule(name) for name in NETWORK] if network else []
    if processes:
        rules += [Rule(name) for name in (*PROCESSES, *SIGNALS, *WATCHING, *SCHEDULING)]
        rules += [Rule("clone", argument=0, needed=CLONE_THREAD), Rule("ioctl", argument=1, refused=(ASYNCHRONOUS,))]
        rules += [Rule("fcntl", argument=1, refused=(SET_FLAGS, SET_OWNER, SET_SIGNAL, SET_OWNER_EXTENDED, NOTIFY))]
        rules += [Rule("prctl", argument=0, allowed=(PR_SET_NAME, PR_GET_NAME, PR_SET_VMA)), Rule("memfd_create")]
        rules += [Rule("madvise", argument=2, refused=(MADV_REMOVE,)), Rule("memfd_secret"), Rule("remap_file_pages")]
    if signals:
        rules += [Rule("kill"), Rule("tgkill")]
    elif processes:
        rules += [Rule("kill", argument=1, allowed=TO_ITSELF), Rule("tgkill", argument=2, allowed=TO_ITSELF)]
    if code_is_known:
        rules += [Rule("open", argument=1, forbidden=WRITING), Rule("openat", argument=2, forbidden=WRITING)]
        return [*rules, Rule("creat"), Rule("openat2", ABSENT)]
    return [*rules, Rule("seccomp")] if processes else rules


def once_loaded() -> list[Rule]:
    """Rules for a process that has loaded a candidate and all that it names: no other code comes into it."""
    code = [Rule(name, argument=2, forbidden=PROT_EXEC) for name in ("mmap", "mprotect", "pkey_mprotect")]
    return [*code, Rule("seccomp")]


def install(rules: Iterable[Rule]) -> None:
    """Put rules into force for every thread of this process and what it starts. Raises OSError where that cannot be."""
    if system.MACHINE not in ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"no filter is known for {system.MACHINE}")
    lockdown.install(system.known()["seccomp"], program(rules))


def program(rules: Iterable[Rule]) -> bytes:
    """The BPF program for this machine's numbers."""
    lines = [
        _line(LOAD, 0, 0, ARCHITECTURE),
        _line(EQUAL, 1, 0, ARCHITECTURES[system.MACHINE]),
        _line(RETURN, 0, 0, KILL),
    ]
    lines.append(_line(LOAD, 0, 0, NUMBER))
    if system.MACHINE == "x86_64":
        lines += [_line(AT_LEAST, 0, 1, X32), _line(RETURN, 0, 0, ABSENT)]
    for rule in rules:
        number = system.known().get(rule.name)
        if number is None:  # such as fork, which is a clone on newer machines
            continue
        body = _body(rule)
        lines += [_line(EQUAL, 0, len(body), number), *body]
    return b"".join([*lines, _line(RETURN, 0, 0, ALLOW)])


def _body(rule: Rule) -> list[bytes]:
    """What follows where the number fits; every path returns."""
    if rule.argument is None:
        return [_line(RETURN, 0, 0, rule.action)]
    allow, refuse = _line(RETURN, 0, 0, ALLOW), _line(RETURN, 0, 0, rule.action)
    load = _line(LOAD, 0, 0, ARGUMENTS + 8 * rule.argument)  # the lower half, on little-endian machines
    if rule.needed:
        return [load, _line(ANY_BIT, 0, 1, rule.needed), allow, refuse]
    if rule.forbidden:
        return [load, _line(ANY_BIT, 0, 1, rule.forbidden), refuse, allow]
    values = rule.allowed or rule.refused
    tests = [_line(EQUAL, len(values) - index, 0, value) for index, value in enumerate(values)]
    return [load, *tests, refuse, allow] if rule.allowed else [load, *tests, allow, refuse]


def _line(code: int, if_true: int, if_false: int, value: int) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value & 0xFFFFFFFF)
