"""Styles and scripts, to be linked to on a server or written into a file."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "static"

STYLES = ("style.css", "vendor/uPlot.min.css", "charts.css")
SCRIPTS = (
    *("vendor/d3.min.js", "vendor/uPlot.iife.min.js"),
    *("format.js", "plot.js", "details.js", "labels.js", "paint.js", "speed.js", "lineage.js"),
    *("branches.js", "tree.js", "tables.js", "compare.js", "live.js"),
)
"""In the order in which they are read."""
ALONE = ("compare.js", "live.js")
"""Scripts that have nothing to do in a file."""


@dataclass(frozen=True)
class Linked:
    """What a page of the server refers to."""

    styles: tuple[str, ...]
    scripts: tuple[str, ...]


@dataclass(frozen=True)
class Inlined:
    """Texts that a file holds, and the policy under which a browser runs these and nothing else."""

    styles: tuple[str, ...]
    scripts: tuple[str, ...]

    @cached_property
    def policy(self) -> str:
        """A content security policy (https://www.w3.org/TR/CSP3/); `frame-ancestors` counts only in a header."""
        scripts, styles = (" ".join(map(_hash, texts)) or "'none'" for texts in (self.scripts, self.styles))
        kept = "img-src data:; base-uri 'none'; form-action 'none'"
        return f"default-src 'none'; script-src {scripts}; style-src {styles}; {kept}"


def linked() -> Linked:
    return Linked(tuple(f"/static/{name}" for name in STYLES), tuple(f"/static/{name}" for name in SCRIPTS))


def inlined() -> Inlined:
    scripts = [name for name in SCRIPTS if name not in ALONE]
    return Inlined(tuple(map(_text, STYLES)), tuple(map(_text, scripts)))


def _text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
