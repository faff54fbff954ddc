"""What a sanitizer says of a kernel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sanitized:
    """What the tools said of one kernel."""

    findings: str
    """Mistakes, in the tools' words and bounded; empty where they found none."""
    tools: tuple[str, ...]
    """Those that came to an end."""
    not_run: str
    """Why the others did not, as `not run: …`; empty where all did."""
    seconds: float


UNINSPECTED = Sanitized("", (), "not run: there is no sanitizer for such kernels", 0.0)
