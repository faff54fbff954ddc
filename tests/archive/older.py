"""What tests do to an archive so that it is as an older version had left it."""

from __future__ import annotations

import sqlite3


def before_overviews(file: sqlite3.Connection) -> None:
    """Take away what migrations 0010 and 0011 brought."""
    file.execute("ALTER TABLE evaluations DROP COLUMN elementwise_error")
    for name in ("ix_kernels_run", "ix_evaluations_kernel", "ix_evaluations_milliseconds"):
        file.execute(f"DROP INDEX {name}")
