"""The tests that go with an export, for whoever receives it: pytest, the exported files, torch, nothing of ours."""

from __future__ import annotations

from dataclasses import dataclass

from treesearch.export.exported import Exported
from treesearch.export.files import render
from treesearch.records import Label


@dataclass(frozen=True)
class Tolerance:
    """Of every element, absolutely and relative to the reference's, as another harness has it."""

    value: float
    met: bool | None
    """Whether kernel and reference are known to be as close to each other as that; None where it is not known."""


def generated(exported: Exported, file: str, *, other: Tolerance | None = None, installed: bool = False) -> str:
    """Tests of the module `file`.py beside them, or of one that is `installed`.

    Where they need a device that is not there, they are skipped with the reason.
    """
    kind, sealed = exported.device.kind, exported.language.sealed
    return render(
        "test_export.py.j2",
        title=exported.problem.name,
        file=file,
        kind=kind,
        cuda=kind == "cuda",
        sealed=sealed,
        reference_apart=other is not None or not sealed,
        architecture=exported.architecture if sealed else "",
        tolerance=exported.problem.tolerance,
        varying=Label.VARYING in exported.evaluation.labels,
        other=other,
        installed=installed,
    )
