"""Runs as a dataset for fine-tuning or reinforcement learning: every kernel, failures included, and how it came about.

Three tables (`rows.py`), written a few rows at a time: what is held in memory is one run's lineage, however many runs
there are. Nothing is judged again, and the same runs give the same tables, byte for byte.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from treesearch import resources
from treesearch.archive import Archive
from treesearch.errors import UsageError
from treesearch.export import folder, manifest
from treesearch.export.dataset import card, conversations, nodes, runs
from treesearch.export.dataset.nodes import Subject
from treesearch.export.dataset.rows import Conversation, Node, Searched
from treesearch.export.dataset.tables import Jsonl, Parquet, Table
from treesearch.records import Entry, Run

FORMAT = "dataset"
TABLES: dict[str, type] = {"nodes": Node, "conversations": Conversation, "runs": Searched}
AT_A_TIME = 64
"""Kernels whose questions and answers are read together."""

T = TypeVar("T")
Say = Callable[[str], None]


@dataclass(frozen=True)
class Tables:
    """The three files, open, and how many rows each has got."""

    files: dict[str, Table]
    rows: Counter[str]

    def add(self, name: str, row: object) -> None:
        self.files[name].add(row)
        self.rows[name] += 1


def export(
    found: Sequence[tuple[Archive, Run]], target: Path, *, parquet: bool = False, announce: Say = lambda what: None
) -> dict[str, Any]:
    """Write runs, each with the archive that holds it, as a dataset; returns its manifest.

    The runs come by their age, whatever their order here. Raises UsageError where there is none, or where `target`
    holds something else, and ToolchainError where Parquet cannot be written.
    """
    ordered = sorted({run.id: (store, run) for store, run in found}.values(), key=lambda one: _age(one[1]))
    if not ordered:
        raise UsageError("Name at least one run to export; `treesearch show` lists the latest.")
    subject = " ".join(run.id for _, run in ordered)
    with folder.staged(target, FORMAT, subject) as work:
        searched, rows = _write(ordered, work, Parquet if parquet else Jsonl, announce)
        folder.write(work, {"README.md": card.card(searched, rows, Parquet.suffix if parquet else Jsonl.suffix)})
        return manifest.finish(work, FORMAT, subject, {"runs": subject.split(), "rows": rows, "verified_now": False})


def _age(run: Run) -> tuple[str, str]:
    return run.created, run.id


def _write(
    ordered: Sequence[tuple[Archive, Run]], work: Path, form: type[Table], announce: Say
) -> tuple[list[Searched], dict[str, int]]:
    with ExitStack() as stack:
        tables = Tables({}, Counter(dict.fromkeys(TABLES, 0)))
        for name, rows in TABLES.items():
            tables.files[name] = stack.enter_context(form(work / f"{name}{form.suffix}", rows))
        searched = []
        for store, run in ordered:
            announce(f"writing run {run.id} on {run.problem_name}")
            searched.append(_add_run(tables, store, run))
    return searched, dict(tables.rows)


def _add_run(tables: Tables, store: Archive, run: Run) -> Searched:
    about = Subject(run, store.lineage(run.id), _ships(store))
    for some in batches(about.lineage.entries, AT_A_TIME):
        _add_nodes(tables, store, about, some)
    for several in batches(conversations.attempts(about.lineage), AT_A_TIME):
        _add_conversations(tables, store, about, several)
    searched = runs.searched(about, store.problem(run.problem), store.device(run.device))
    tables.add("runs", searched)
    return searched


def _add_nodes(tables: Tables, store: Archive, about: Subject, entries: Sequence[Entry]) -> None:
    asked = store.exchanges({entry.kernel.answer for entry in entries})
    measured = store.remeasurements([entry.kernel.id for entry in entries])
    for entry in entries:
        kernel = entry.kernel
        later = tuple(one for one in measured if one.kernel == kernel.id)
        tables.add("nodes", nodes.node(about, entry, asked.get(kernel.answer), later))


def _add_conversations(tables: Tables, store: Archive, about: Subject, attempts: Sequence[Sequence[Entry]]) -> None:
    ids = {id for attempt in attempts for id in conversations.questions(attempt)}
    asked, turns = store.exchanges(ids), store.turns_of(ids)
    for attempt in attempts:
        if row := conversations.conversation(about, attempt, asked, turns):
            tables.add("conversations", row)


def _ships(store: Archive) -> bool:
    """Whether an archive is the record that ships."""
    return store.url == f"sqlite:///{resources.record().absolute()}"


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """The items in lists of `size`, the last of which may be shorter."""
    batch: list[T] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
