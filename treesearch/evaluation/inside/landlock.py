"""Landlock: what a process may open, beneath which folders, and whom it may reach. It needs no privileges."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterable

from treesearch.evaluation.inside import system

EXECUTE, WRITE_FILE, READ_FILE, READ_DIRECTORY = 1, 2, 4, 8
CHANGES = 0x1FF0
"""Removing, and making of every kind."""
REFER, TRUNCATE, DEVICE_CONTROL = 1 << 13, 1 << 14, 1 << 15
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | DEVICE_CONTROL
"""Rights that a rule about a file, rather than a folder, may hold."""
NETWORK = 3
"""Binding and connecting TCP sockets."""
ABSTRACT_SOCKETS, SIGNALS = 1, 2
PATH_BENEATH = 1
VERSION_ONLY = 1


def version() -> int:
    """The version that the kernel offers; 0 where it has none."""
    try:
        return system.call("landlock_create_ruleset", ctypes.c_void_p(None), 0, VERSION_ONLY)
    except OSError:
        return 0


def restrict(readable: Iterable[str], writable: Iterable[str], *, files: bool, network: bool, processes: bool) -> None:
    """Keep this process and what it starts to these places. Raises OSError where the kernel does not allow it.

    Each of the three switches says whether there is a wall at all. Unless it is root's, the process must have given up
    gaining privileges (PR_SET_NO_NEW_PRIVS).
    """
    offered = version()
    if not offered:
        raise OSError(errno.ENOSYS, "the kernel has no Landlock")
    handled = _handled(offered) if files else 0
    attributes = [handled, NETWORK if network and offered >= 4 else 0]
    attributes.append((ABSTRACT_SOCKETS if network else 0) | (SIGNALS if processes else 0) if offered >= 6 else 0)
    attributes = attributes[: 1 if offered < 4 else 2 if offered < 6 else 3]
    if not any(attributes):
        return
    packed = struct.pack(f"{len(attributes)}Q", *attributes)
    holder = ctypes.create_string_buffer(packed, len(packed))
    ruleset = system.call("landlock_create_ruleset", ctypes.byref(holder), len(packed), 0)
    try:
        for path in readable if files else ():
            _allow(ruleset, path, handled & (EXECUTE | READ_FILE | READ_DIRECTORY))
        for path in writable if files else ():
            _allow(ruleset, path, handled)
        system.call("landlock_restrict_self", ruleset, 0)
    finally:
        os.close(ruleset)


def _handled(offered: int) -> int:
    """Every right that this version knows."""
    rights = EXECUTE | WRITE_FILE | READ_FILE | READ_DIRECTORY | CHANGES
    for since, right in ((2, REFER), (3, TRUNCATE), (5, DEVICE_CONTROL)):
        rights |= right if offered >= since else 0
    return rights


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # what is not there needs no rule
        return
    try:
        kept = rights if os.path.isdir(path) else rights & OF_FILES
        rule = struct.pack("=Qi", kept, place)
        holder = ctypes.create_string_buffer(rule, len(rule))
        system.call("landlock_add_rule", ruleset, PATH_BENEATH, ctypes.byref(holder), 0)
    finally:
        os.close(place)
