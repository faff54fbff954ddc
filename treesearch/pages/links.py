"""Where a page is found: on the server, or within one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote, urlencode


class Links(Protocol):
    """An empty text is no link."""

    @property
    def kernels(self) -> str:
        """What leads to a kernel's page, if it has one, when its id follows."""
        ...

    def has_page(self, kernel: str) -> bool: ...
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

    kernels: str = "/kernels/"

    def has_page(self, kernel: str) -> bool:
        return True

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
        return f"{self.kernels}{quote(id, safe='')}"

    def compare(self, runs: Sequence[str], axis: str = "") -> str:
        return f"/compare?{urlencode([*(('run', run) for run in runs), *([('axis', axis)] if axis else [])])}"


@dataclass(frozen=True)
class Filed:
    """In a file that holds one run, and these of its kernels."""

    held: frozenset[str]
    kernels: str = "#kernel-"

    def has_page(self, kernel: str) -> bool:
        return kernel in self.held

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
        return f"{self.kernels}{quote(id, safe='')}" if self.has_page(id) else ""

    def compare(self, runs: Sequence[str], axis: str = "") -> str:
        return ""
