"""System calls that Python has no name for, by their numbers. Standard library only, like everything in this folder: it
runs in the child, before the candidate."""

from __future__ import annotations

import ctypes
import os
import signal

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long

MACHINE = os.uname().machine
PR_SET_PDEATHSIG = 1

EVERYWHERE = {
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
    "mount_setattr": 442,
    "clone3": 435,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "pidfd_send_signal": 424,
    "pidfd_open": 434,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "cachestat": 451,
    "openat2": 437,
    "memfd_secret": 447,
}
"""Calls made since numbers became the same on all machines."""


def _table(text: str) -> dict[str, int]:
    words = text.split()
    return {**EVERYWHERE, **dict(zip(words[::2], map(int, words[1::2]), strict=True))}


NUMBERS = {
    "x86_64": _table(
        "socket 41 socketpair 53 connect 42 bind 49 listen 50 accept 43 accept4 288 clone 56 fork 57 vfork 58 "
        "execve 59 execveat 322 unshare 272 setns 308 kill 62 tkill 200 tgkill 234 rt_sigqueueinfo 129 "
        "rt_tgsigqueueinfo 297 setsid 112 setpgid 109 ptrace 101 process_vm_readv 310 process_vm_writev 311 "
        "prctl 157 seccomp 317 mount 165 umount2 166 pivot_root 155 chroot 161 memfd_create 319 shmget 29 shmat 30 "
        "shmctl 31 msgget 68 semget 64 mq_open 240 bpf 321 perf_event_open 298 userfaultfd 323 keyctl 250 "
        "add_key 248 request_key 249 init_module 175 finit_module 313 delete_module 176 kexec_load 246 reboot 169 "
        "swapon 167 swapoff 168 personality 135 name_to_handle_at 303 open_by_handle_at 304 fanotify_init 300 "
        "kcmp 312 syslog 103 "
        "rt_sigaction 13 setitimer 38 alarm 37 timer_create 222 timerfd_create 283 signalfd4 289 io_setup 206 rseq 334 "
        "fcntl 72 ioctl 16 inotify_init 253 inotify_init1 294 inotify_add_watch 254 fanotify_mark 301 fadvise64 221 "
        "readahead 187 preadv2 327 pwritev2 328 sched_setscheduler 144 sched_setparam 142 sched_setattr 314 "
        "setpriority 141 mmap 9 mprotect 10 pkey_mprotect 329 open 2 openat 257 creat 85 "
        "madvise 28 remap_file_pages 216 "
        "ioprio_set 251"
    ),
    "aarch64": _table(
        "socket 198 socketpair 199 connect 203 bind 200 listen 201 accept 202 accept4 242 clone 220 execve 221 "
        "execveat 281 unshare 97 setns 268 kill 129 tkill 130 tgkill 131 rt_sigqueueinfo 138 rt_tgsigqueueinfo 240 "
        "setsid 157 setpgid 154 ptrace 117 process_vm_readv 270 process_vm_writev 271 prctl 167 seccomp 277 "
        "mount 40 umount2 39 pivot_root 41 chroot 51 memfd_create 279 shmget 194 shmat 196 shmctl 195 msgget 186 "
        "semget 190 mq_open 180 bpf 280 perf_event_open 241 userfaultfd 282 keyctl 219 add_key 217 request_key 218 "
        "init_module 105 finit_module 273 delete_module 106 kexec_load 104 reboot 142 swapon 224 swapoff 225 "
        "personality 92 name_to_handle_at 264 open_by_handle_at 265 fanotify_init 262 kcmp 272 syslog 116 "
        "rt_sigaction 134 setitimer 103 timer_create 107 timerfd_create 85 signalfd4 74 io_setup 0 rseq 293 fcntl 25 "
        "ioctl 29 inotify_init1 26 inotify_add_watch 27 fanotify_mark 263 fadvise64 223 readahead 213 preadv2 286 "
        "pwritev2 287 sched_setscheduler 119 sched_setparam 118 sched_setattr 274 setpriority 140 "
        "mmap 222 mprotect 226 pkey_mprotect 288 openat 56 ioprio_set 30 "
        "madvise 233 remap_file_pages 234"
    ),
}
"""Numbers by machine, from the kernel's tables (arch/x86/entry/syscalls, include/uapi/asm-generic/unistd.h)."""


def known() -> dict[str, int]:
    """Numbers on this machine; empty where nobody wrote them down."""
    return NUMBERS.get(MACHINE, {})


def call(name: str, *arguments: object) -> int:
    """Make a system call. Raises OSError where it fails, or where this machine's number is not known."""
    number = known().get(name)
    if number is None:
        raise OSError(38, f"{name} is not known on {MACHINE}")
    converted = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result: int = LIBC.syscall(ctypes.c_long(number), *converted)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def library_call(name: str, *arguments: object) -> int:
    """Call a function of libc. Raises OSError where it fails."""
    result: int = getattr(LIBC, name)(*arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def die_with(parent: int) -> None:
    """Be killed when the parent dies; `parent` is its process id, or 0 where it cannot have died before."""
    library_call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if parent and os.getppid() != parent:
        os._exit(1)
