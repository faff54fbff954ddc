"""What tests do to an archive so that it is as an older version had left it."""

from __future__ import annotations

import json
import sqlite3


def before_passages(file: sqlite3.Connection) -> None:
    """Take away what migration 0012 brought, and have answers hold their prompts, of which no passage may be long."""
    held = dict(file.execute("SELECT digest, text FROM passages"))
    for id, named in file.execute("SELECT id, passages FROM answers").fetchall():
        prompt = "".join(held[one] for one in json.loads(named))
        file.execute("UPDATE answers SET prompt = ? WHERE id = ?", (prompt, id))
    file.execute("DROP TABLE passages")
    file.execute("ALTER TABLE answers DROP COLUMN passages")


def before_overviews(file: sqlite3.Connection) -> None:
    """Take away what migrations 0010 to 0012 brought."""
    before_passages(file)
    file.execute("ALTER TABLE evaluations DROP COLUMN elementwise_error")
    for name in ("ix_kernels_run", "ix_evaluations_kernel", "ix_evaluations_milliseconds"):
        file.execute(f"DROP INDEX {name}")
