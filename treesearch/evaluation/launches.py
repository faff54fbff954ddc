"""What a CUDA worker tells of the launches that it captured: it is in the candidate's process, so anything may come."""

from __future__ import annotations

import re
from typing import Any

from treesearch.feedback import Launch
from treesearch.languages.symbols import demangled

MOST = 24
LONGEST_NAME = 2000
NAME = re.compile(rf"[A-Za-z_$][\w$.]{{0,{LONGEST_NAME - 1}}}", re.ASCII)
LARGEST = (1 << 31) - 1
MOST_THREADS = 1024
MOST_SHARED = 1 << 20


def told(reply: dict[str, Any]) -> tuple[Launch, ...]:
    """The launches of a reply, or none where anything in them is not what a worker says."""
    listed = reply.get("launches")
    if not isinstance(listed, list) or len(listed) > MOST or not all(map(_plausible, listed)):
        return ()
    names = demangled(tuple(dict.fromkeys(name for name, *_ in listed if name)))
    return tuple(
        Launch(names.get(name, ""), (x, y, z), (across, down, deep), shared, times)
        for name, x, y, z, across, down, deep, shared, times in listed
    )


def _plausible(launch: object) -> bool:
    """Whether it is a name or none, a grid and a block, bytes of shared memory and a count."""
    if not isinstance(launch, list) or len(launch) != 9:
        return False
    name, *numbers = launch
    if not isinstance(name, str) or (name and not NAME.fullmatch(name)):
        return False
    if not all(type(number) is int and 0 <= number <= LARGEST for number in numbers):
        return False
    *shape, shared, times = numbers
    return min([*shape, times]) > 0 and max(shape[3:]) <= MOST_THREADS and bool(shared <= MOST_SHARED)
