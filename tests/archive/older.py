"""What tests do to an archive so that it is as an older version had left it."""

from __future__ import annotations

import sqlite3


def without_overviews(file: sqlite3.Connection) -> None:
    """Take away the indexes of migration 0010."""
    for name in ("ix_kernels_run", "ix_evaluations_kernel", "ix_evaluations_milliseconds"):
        file.execute(f"DROP INDEX {name}")
