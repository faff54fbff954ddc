"""What pages are about: a run with its problem, device and lineage, read once for as long as nothing is new."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property

from treesearch.archive import Archive
from treesearch.lineage import Lineage
from treesearch.records import Device, Entry, Problem, Run
from treesearch.roofline import Floor, floor

KEPT = 4
"""Studies that are kept; one of 5,000 kernels takes some 30 MB."""


@dataclass(frozen=True)
class Study:
    """A run as it is at one version of it."""

    archive: Archive
    run: Run
    version: str
    problem: Problem
    device: Device
    lineage: Lineage
    """An outline: without sources, and with medians in place of samples."""

    @cached_property
    def floor(self) -> Floor | None:
        return floor(self.problem, self.device)

    @cached_property
    def fastest(self) -> Entry | None:
        return self.lineage.fastest()

    @cached_property
    def winning_line(self) -> tuple[Entry, ...]:
        """From the root to the fastest verified kernel; empty while there is none."""
        return self.lineage.path(self.fastest.kernel.id) if self.fastest else ()


def of(archive: Archive, run: Run, version: str = "") -> Study:
    """Read a run. `version` is that of before, where it is known already."""
    seen = version or archive.version(run.id)
    about = archive.problem(run.problem), archive.device(run.device)
    return Study(archive, run, seen, *about, archive.outline(run.id))


class Studies:
    """The runs that were looked at last, each read again only where it has changed. Any thread may ask."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], Study] = OrderedDict()
        self._one_at_a_time = threading.Lock()

    def of(self, archive: Archive, run: Run) -> Study:
        name, version = (archive.url, run.id), archive.version(run.id)
        with self._one_at_a_time:
            kept = self._kept.get(name)
            if kept is None or kept.version != version:
                kept = self._kept[name] = of(archive, run, version)
            self._kept.move_to_end(name)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return kept
