"""A small machine within the machine: namespaces of its own, and a file system with nothing but what is needed."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
from collections.abc import Iterable

from treesearch.evaluation.inside import system

FLAGS = {
    "user": 0x10000000,
    "mount": 0x00020000,
    "pid": 0x20000000,
    "network": 0x40000000,
    "ipc": 0x08000000,
    "uts": 0x04000000,
}
"""CLONE_NEW* by the names used here."""
BIND, RECURSIVE, SLAVE, NO_SUID, NO_DEVICES, NO_EXECUTION = 0x1000, 0x4000, 0x80000, 2, 4, 8
DETACH = 2
AT_RECURSIVE, ATTRIBUTE_READ_ONLY, ATTRIBUTE_NO_SUID = 0x8000, 1, 2
INSIDE_ID = 1000
"""User and group id inside a user namespace."""
LAST_CAPABILITY = 63
PR_CAPBSET_DROP = 24
ROOT_BYTES = 1 << 20
BASES = ("/tmp", "/mnt", "/var", "/run")
"""Folders, one of which every machine has, over which the new root is put together; nothing in them is touched."""


def unshare(names: Iterable[str]) -> None:
    """Leave these namespaces for new ones. Raises OSError where the machine does not allow it."""
    user, group = os.getuid(), os.getgid()
    wanted = list(names)
    flags = sum(FLAGS[name] for name in wanted)
    system.library_call("unshare", ctypes.c_int(flags))
    if "user" in wanted:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{INSIDE_ID} {user} 1")
        _write("/proc/self/gid_map", f"{INSIDE_ID} {group} 1")


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def enter_root(
    readable: Iterable[str],
    writable: Iterable[str],
    devices: Iterable[str],
    copied: Iterable[tuple[str, str]],
    temporary_bytes: int,
    user: int | None,
    *,
    proc: bool,
) -> None:
    """Make a root of these places alone, at the paths that they have, and a private /tmp; leave the old root.

    `copied`: folders, and where copies of them are, for `user` to write to and for nobody to keep. `proc`: mount a
    /proc of the PID namespace's own, which has to be new as well. `temporary_bytes`: what /tmp, /dev/shm and each copy
    may hold; 0 for as much as there is.
    """
    here = os.getcwd()
    places = [(path, os.path.realpath(path), False) for path in readable]
    places += [(path, os.path.realpath(path), True) for path in (*writable, *devices)]
    base = next(path for path in BASES if os.path.isdir(path))
    _mount("none", "/", None, RECURSIVE | SLAVE)
    _mount("tmpfs", base, "tmpfs", NO_SUID | NO_DEVICES, f"size={ROOT_BYTES},mode=0755")
    os.mkdir(f"{base}/old")
    os.mkdir(f"{base}/new")
    system.call("pivot_root", base.encode(), f"{base}/old".encode())
    os.chdir("/")
    _mount("tmpfs", "/new", "tmpfs", NO_SUID | NO_DEVICES, f"size={ROOT_BYTES},mode=0755")
    _links()
    _temporary(temporary_bytes)
    if proc:
        os.makedirs("/new/proc", exist_ok=True)
        _mount("proc", "/new/proc", "proc", NO_SUID | NO_DEVICES | NO_EXECUTION)
    for _, real, free in sorted(places, key=lambda place: len(place[1])):  # what lies within another follows it
        _bind(real, writable=free)
    for path, real, _ in places:
        _link(path, real)
    for source, place in copied:
        _copy(os.path.realpath(f"/old{source}"), os.path.realpath(f"/new{place}"), temporary_bytes, user)
    _read_only("/new", deep=False)
    os.chdir("/new")
    system.call("pivot_root", b".", b".")
    system.call("umount2", b".", DETACH)
    os.chdir(here if os.path.isdir(here) else "/")


def _links() -> None:
    """Where /bin and /lib are links into /usr, they are so here."""
    for name in os.listdir("/old"):
        if os.path.islink(f"/old/{name}"):
            os.symlink(os.readlink(f"/old/{name}"), f"/new/{name}")


def _temporary(size: int) -> None:
    """Private folders for files that nobody keeps."""
    for name in ("/new/tmp", "/new/dev", "/new/dev/shm"):
        os.makedirs(name)
    limit = f"size={size}," if size else ""
    _mount("tmpfs", "/new/tmp", "tmpfs", NO_SUID | NO_DEVICES, f"{limit}mode=1777")
    _mount("tmpfs", "/new/dev/shm", "tmpfs", NO_SUID | NO_DEVICES, f"{limit}mode=1777")
    os.symlink("/proc/self/fd", "/new/dev/fd")


def _bind(path: str, *, writable: bool) -> None:
    """Show a real path of the old root in the new one. What is not there is left out."""
    old, new = f"/old{path}", f"/new{path}"
    if not os.path.exists(old):
        return
    _place(new, folder=os.path.isdir(old))
    _mount(old, new, None, BIND | RECURSIVE)
    if not writable:
        _read_only(new, deep=True)


def _link(path: str, real: str) -> None:
    """Let a path that leads through links lead to the same place."""
    if path != real and os.path.exists(f"/new{real}") and not os.path.lexists(f"/new{path}"):
        os.makedirs(os.path.dirname(f"/new{path}"), exist_ok=True)
        os.symlink(real, f"/new{path}")


def _copy(source: str, new: str, size: int, user: int | None) -> None:
    """Folders and files of `source` in memory at `new`, which is there already."""
    limit = f"size={size}," if size else ""
    _mount("tmpfs", new, "tmpfs", NO_SUID | NO_DEVICES, f"{limit}mode=0755")
    shutil.copytree(source, new, symlinks=True, dirs_exist_ok=True)
    if user is None:
        return
    for folder, _, names in os.walk(new):
        for path in (folder, *(os.path.join(folder, name) for name in names)):
            os.chown(path, user, user, follow_symlinks=False)


def _place(new: str, *, folder: bool) -> None:
    """Something to mount on."""
    if os.path.exists(new):
        return
    if folder:
        os.makedirs(new)
        return
    os.makedirs(os.path.dirname(new), exist_ok=True)
    os.close(os.open(new, os.O_CREAT | os.O_WRONLY, 0o444))


def _mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    encoded = [text.encode() if text is not None else None for text in (source, target, kind)]
    system.call("mount", *encoded, flags, options.encode() or None)


def _read_only(path: str, *, deep: bool) -> None:
    attributes = struct.pack("4Q", ATTRIBUTE_READ_ONLY | ATTRIBUTE_NO_SUID, 0, 0, 0)
    holder = ctypes.create_string_buffer(attributes, len(attributes))
    flags = AT_RECURSIVE if deep else 0
    system.call("mount_setattr", -100, path.encode(), flags, ctypes.byref(holder), len(attributes))


def drop_privileges(user: int | None) -> None:
    """Become `user`, if it is named, and lose every capability for good."""
    for capability in range(LAST_CAPABILITY + 1):
        system.LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # without privileges there is nothing to drop
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
