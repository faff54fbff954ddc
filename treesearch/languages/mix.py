"""What instructions a compiled function consists of, as a disassembler shows them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Count:
    """How many instructions are of a class, such as `FP32 FMA`."""

    kind: str
    number: int


@dataclass(frozen=True)
class Mix:
    """A function's instructions by class, the most telling class first. Each counts once, however often it runs."""

    function: str
    """As in its source, without parameters."""
    counts: tuple[Count, ...]

    @property
    def total(self) -> int:
        return sum(count.number for count in self.counts)

    def has(self, kind: str) -> bool:
        return any(count.kind == kind for count in self.counts)


@dataclass(frozen=True)
class Disassembler:
    """The program that shows what a language's shared objects consist of, and how to read it."""

    tool: Callable[[], str | None]
    """Its path, or None where it is absent."""
    command: Callable[[str, Path], list[str]]
    """Command line that prints a shared object's instructions: (tool, library)."""
    mixes: Callable[[str], tuple[Mix, ...]]
    """What it printed, by function, in the order of the text."""


class Classes:
    """An ordered list of patterns: an instruction is of the first class whose pattern its text begins with."""

    def __init__(self, patterns: Sequence[tuple[str, str]], other: str) -> None:
        """Pairs of a pattern and the class's name, in which `{}` stands for the pattern's first group, the most telling
        classes first; `other` names the class of what no pattern fits."""
        self._other = other
        self._patterns = [(re.compile(pattern), name) for pattern, name in patterns]
        self._known: dict[str, tuple[int, str]] = {}

    def mix(self, function: str, instructions: Iterable[str]) -> Mix:
        found = Counter(map(self._of, instructions))
        in_order = sorted(found.items(), key=lambda item: (item[0][0], -item[1]))
        return Mix(function, tuple(Count(kind, number) for (_, kind), number in in_order if kind))

    def of(self, instruction: str) -> str:
        """Name of an instruction's class; empty for one that does nothing."""
        return self._of(instruction)[1]

    def _of(self, instruction: str) -> tuple[int, str]:
        """The class's place in the list, and its name."""
        if instruction not in self._known:
            self._known[instruction] = self._class(instruction)
        return self._known[instruction]

    def _class(self, instruction: str) -> tuple[int, str]:
        for place, (pattern, name) in enumerate(self._patterns):
            if match := pattern.match(instruction):
                return place, name.format(*match.groups())
        return len(self._patterns), self._other
