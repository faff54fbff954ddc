"""The store: every problem, answer, kernel and evaluation, in SQLite or PostgreSQL.

They load on first use, so that importing this package does not import sqlalchemy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treesearch.archive.bills import Bill
    from treesearch.archive.findings import Finding, Kind
    from treesearch.archive.mapping import AnswerSize, Author, FailedAsk
    from treesearch.archive.outlining import Questions
    from treesearch.archive.searching import Hit
    from treesearch.archive.store import Archive
    from treesearch.archive.summaries import Summary

__all__ = ["AnswerSize", "Archive", "Author", "Bill", "FailedAsk", "Finding", "Hit", "Kind", "Questions", "Summary"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from treesearch.archive import store

    return getattr(store, name)
