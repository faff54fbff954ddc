"""Processes that were killed: the dead leave while other things go on, and nothing is timed before they are gone.

A killed process is gone once it has given back what it held, which takes one that has used a GPU half a second. Its
parent cannot tell where PID namespaces are: what it started has ended, but not what that started in its turn.
"""

from __future__ import annotations

import contextlib
import os
import select
from collections import deque
from collections.abc import Iterable

from treesearch.evaluation.walls import cgroup

LONGEST_LEAVING = 1.0
"""Seconds that a killed process may take to be gone."""
_leaving: deque[int] = deque()
"""Descriptors that can be read once their processes are gone."""


def watch(dying: Iterable[int]) -> None:
    """Note processes that are about to be killed, by their ids."""
    for process in dying:
        with contextlib.suppress(OSError):  # it is gone, or the machine has no such descriptors
            _leaving.append(os.pidfd_open(process))


def settle() -> None:
    """Wait until those that were killed are gone, for a second each at the most, and their control groups with them."""
    with contextlib.suppress(IndexError):  # another thread may take the last one
        while True:
            descriptor, poll = _leaving.popleft(), select.poll()
            poll.register(descriptor, select.POLLIN)
            poll.poll(1e3 * LONGEST_LEAVING)
            os.close(descriptor)
    cgroup.settle()
