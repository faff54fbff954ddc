"""The forms that one kernel is exported in, and how a folder of one comes about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treesearch.export import folder, kernelbench, lint, manifest, module, package
from treesearch.export.exported import Exported
from treesearch.export.files import Files
from treesearch.export.verifying import Verification


@dataclass(frozen=True)
class Format:
    """A form of one kernel's export."""

    name: str
    summary: str
    files: Callable[[Exported], Files]
    """Everything but the manifest, by path below the export's folder."""
    use: Callable[[Exported, Path], tuple[str, str]]
    """Two lines for whoever has the folder: what to import, what to run."""
    known: Callable[[Exported], dict[str, Any]] = lambda exported: {}
    """What its manifest says beside what all say."""


FORMATS = {
    one.name: one
    for one in (
        Format("module", "one Python file with a custom operator and an nn.Module", module.files, module.use),
        Format(
            "kernelbench",
            "reference and ModelNew, as KernelBench takes them",
            kernelbench.files,
            kernelbench.use,
            kernelbench.known,
        ),
        Format(
            "package",
            "a Python package with the kernel compiled ahead of time",
            package.files,
            package.use,
            package.known,
        ),
    )
}


@dataclass(frozen=True)
class Written:
    """An export that is there."""

    folder: Path
    manifest: dict[str, Any]
    use: tuple[str, str]


def check(exported: Exported, format: Format, target: Path) -> None:
    """Raises UsageError where `write` would, before anything is judged."""
    folder.check(target, format.name, exported.id)
    lint.require(exported, format.files(exported))


def write(exported: Exported, format: Format, verification: Verification, target: Path) -> Written:
    """Make the folder of an export. Raises UsageError, with what to change, where `lint` objects, and where the folder
    holds something else (see `folder.staged`); then nothing is written."""
    files = format.files(exported)
    lint.require(exported, files)
    with folder.staged(target, format.name, exported.id) as work:
        folder.write(work, files)
        members = {**manifest.of_kernel(exported, verification), **format.known(exported)}
        whole = manifest.finish(work, format.name, exported.id, members)
    return Written(target, whole, format.use(exported, target))
