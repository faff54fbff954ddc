"""What ptxas reports about each kernel function, and a compiler's log without that report."""

from __future__ import annotations

import re
from collections.abc import Iterator

from treesearch.languages.symbols import MANGLED, demangled
from treesearch.records import Resources

_ENTRY = re.compile(r"^ptxas info\s*: Compiling entry function '(\S+)' for ")
_FUNCTION = re.compile(r"^ptxas info\s*: Function properties for (\S+)$")
_FRAME = re.compile(r"^\s+(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads$")
_USED = re.compile(r"^ptxas info\s*: Used (\d+) registers\b(.*)$")
_SHARED = re.compile(r"(\d+) bytes smem")

_BOILERPLATE = re.compile(
    r"ptxas info\s*: (\d+ bytes gmem|Compiling entry function |Function properties for |Used \d+ registers|"
    r'Compile time = )|\s+\d+ bytes stack frame, |Remark: The warnings can be suppressed with "-diag-suppress '
)
_TEMPORARY = re.compile(r"(?:/\S*/)?tmpxft_\w+-\d+_(kernel\b)")


def resources(log: str) -> tuple[Resources, ...]:
    """What each `__global__` function takes, in the order of the log.

    Names are demangled where c++filt is at hand, and whole in any case.
    """
    found = tuple(_functions(log))
    names = demangled(tuple(name for name, *_ in found))
    return tuple(
        Resources(names[name], registers, spilled, reloaded, stack, shared)
        for name, registers, spilled, reloaded, stack, shared in found
    )


def readable(log: str) -> str:
    """The log without the report that `resources` reads: errors and warnings, names demangled."""
    kept = "\n".join(line for line in log.splitlines() if not _BOILERPLATE.match(line)).strip("\n")
    names = demangled(tuple(dict.fromkeys(MANGLED.findall(kept))))
    text = MANGLED.sub(lambda name: names[name[0]], _TEMPORARY.sub(r"\1", kept))
    return f"{text}\n" if text.strip() else ""


def _functions(log: str) -> Iterator[tuple[str, int, int, int, int, int]]:
    """Mangled name, registers, bytes of spill stores, of spill loads, of stack, of static shared memory."""
    entry = described = ""
    frames: dict[str, tuple[int, int, int]] = {}
    for line in log.splitlines():
        if match := _ENTRY.match(line):
            entry = match[1]
        elif match := _FUNCTION.match(line):
            described = match[1]
        elif match := _FRAME.match(line):
            frames[described] = (int(match[1]), int(match[2]), int(match[3]))
        elif entry and (match := _USED.match(line)):
            stack, spilled, reloaded = frames.get(entry, (0, 0, 0))
            shared = _SHARED.search(match[2])
            yield entry, int(match[1]), spilled, reloaded, stack, int(shared[1]) if shared else 0
            entry = ""
