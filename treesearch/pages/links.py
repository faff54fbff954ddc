"""Where a page is found: on the server, or within one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote, urlencode


class Links(Protocol):
    """An empty text is no link."""

    def front(self) -> str: ...
    def problem(self, digest: str) -> str: ...
    def run(self, id: str) -> str: ...
    def events(self, run: str) -> str: ...
    def everything(self, run: str) -> str: ...
    def kernel(self, id: str) -> str: ...
    def compare(self, runs: Sequence[str], axis: str = "") -> str: ...


@dataclass(frozen=True)
class Served:
    """On a server."""

    def front(self) -> str:
        return "/"

    def problem(self, digest: str) -> str:
        return f"/problems/{quote(digest, safe='')}"

    def run(self, id: str) -> str:
        return f"/runs/{quote(id, safe='')}"

    def events(self, run: str) -> str:
        return f"{self.run(run)}/events"

    def everything(self, run: str) -> str:
        return f"{self.run(run)}/everything"

    def kernel(self, id: str) -> str:
        return f"/kernels/{quote(id, safe='')}"

    def compare(self, runs: Sequence[str], axis: str = "") -> str:
        return f"/compare?{urlencode([*(('run', run) for run in runs), *([('axis', axis)] if axis else [])])}"


@dataclass(frozen=True)
class Filed:
    """In a file that holds one run, and these of its kernels."""

    kernels: frozenset[str]

    def front(self) -> str:
        return ""

    def problem(self, digest: str) -> str:
        return ""

    def run(self, id: str) -> str:
        return "#top"

    def events(self, run: str) -> str:
        return ""

    def everything(self, run: str) -> str:
        return ""

    def kernel(self, id: str) -> str:
        return f"#kernel-{quote(id, safe='')}" if id in self.kernels else ""

    def compare(self, runs: Sequence[str], axis: str = "") -> str:
        return ""
