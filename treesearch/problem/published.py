"""Kernels that others have published for the problems that ship: their times, as `problems/published.toml` has them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache

from treesearch import resources
from treesearch.records import Device, Problem, digest


@dataclass(frozen=True)
class Published:
    """A kernel that others have published, as it was measured for this project."""

    problem: str
    device: str
    """The name of the device."""
    milliseconds: float
    by: str


def published(problem: Problem, device: Device) -> Published | None:
    """The kernel that others have published for a problem, measured on such a device; None where there is none, or
    the problem only bears the name of one that ships."""
    path = resources.problems() / f"{problem.name}.py"
    if not path.is_file() or digest(path.read_text()) != problem.digest:
        return None
    return next((one for one in _all() if (one.problem, one.device) == (problem.name, device.name)), None)


@cache
def _all() -> tuple[Published, ...]:
    listed = tomllib.loads((resources.problems() / "published.toml").read_text())
    return tuple(Published(**kernel) for kernel in listed["kernel"])
