"""Put a filter of system calls into force. Standard library only: workers load this file by its path."""

from __future__ import annotations

import ctypes
import os
import struct

SET_MODE_FILTER, ALL_THREADS, NO_SLOWDOWN = 1, 1, 4
"""SECCOMP_FILTER_FLAG_TSYNC and _SPEC_ALLOW: without the latter some kernels slow the process down."""
INSTRUCTION_BYTES = 8


def install(number: int, program: bytes) -> None:
    """`number` is that of the call seccomp; `program` is BPF. Raises OSError where the kernel does not take it.

    The process must have given up gaining privileges (PR_SET_NO_NEW_PRIVS).
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    text = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("HxxxxxxP", len(program) // INSTRUCTION_BYTES, ctypes.addressof(text))
    holder = ctypes.create_string_buffer(described, len(described))
    flags = ALL_THREADS | NO_SLOWDOWN
    if libc.syscall(ctypes.c_long(number), SET_MODE_FILTER, flags, ctypes.byref(holder)):
        code = ctypes.get_errno()
        raise OSError(code, f"seccomp: {os.strerror(code)}")
