"""The dataset's README, and its columns as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treesearch.export.dataset.rows import Conversation, Node, Searched
from treesearch.export.dataset.tables import columns
from treesearch.export.files import render


def card(runs: Sequence[Searched], rows: Mapping[str, int], suffix: str) -> str:
    """The README of a dataset with these runs; `rows` are those of each table, `suffix` that of its files."""
    tables = {"nodes": table(Node), "conversations": table(Conversation), "runs": table(Searched)}
    return render("dataset.md.j2", runs=runs, rows=rows, suffix=suffix, tables=tables)


def table(rows: type) -> str:
    """The columns of a class of rows: name, type (`?` where it may be null) and meaning."""
    lines = ["| column | type | meaning |", "|---|---|---|"]
    for column in columns(rows):
        lines.append(f"| `{column.name}` | {column.type}{'?' if column.optional else ''} | {column.meaning} |")
    return "\n".join(lines)
