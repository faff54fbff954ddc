"""Rows as JSON Lines or Parquet: written as they come, the same bytes for the same rows."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Protocol, Self, Union, get_args, get_origin, get_type_hints

from treesearch.archive.texts import clean
from treesearch.errors import ToolchainError

ROWS_A_GROUP = 256
"""Rows of a Parquet row group, which is what is held in memory: a row is some 50 KB of text."""


@dataclass(frozen=True)
class Column:
    """A column of a table; `kind` is the type of its values, and `parts` lead to them from a row."""

    name: str
    kind: Any
    optional: bool
    meaning: str
    parts: tuple[str, ...]

    def of(self, row: object) -> object:
        """The row's value here; None where a part on the way to it is None."""
        for part in self.parts:
            row = getattr(row, part) if row is not None else None
        return row

    @property
    def type(self) -> str:
        """For people: `text`, `list of number`."""
        return _named(self.kind)


@cache
def columns(table: type) -> tuple[Column, ...]:
    """Those of a class of rows, in order."""
    return tuple(_columns(table, False, ()))


def _columns(part: type, optional: bool, way: tuple[str, ...]) -> Iterator[Column]:
    for name, hint in get_type_hints(part, include_extras=True).items():
        meaning = next(iter(get_args(hint)[1:]), "") if get_origin(hint) is Annotated else ""
        kind, absent = _without_none(get_args(hint)[0] if meaning else hint)
        if meaning:
            yield Column(name, kind, optional or absent, meaning, (*way, name))
        else:
            yield from _columns(kind, optional or absent, (*way, name))


def _without_none(hint: Any) -> tuple[Any, bool]:
    """A type, and whether None may stand in its place."""
    if get_origin(hint) not in (Union, UnionType):
        return hint, False
    return next(one for one in get_args(hint) if one is not NoneType), True


def _named(kind: Any) -> str:
    if get_origin(kind) is tuple:
        return f"list of {_named(_without_none(get_args(kind)[0])[0])}"
    return {str: "text", int: "integer", float: "number", bool: "boolean"}.get(kind) or str(kind.__name__).lower()


def plain(value: object) -> Any:
    """A value as JSON has it: text that any reader can hold, numbers that are finite, else null."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if is_dataclass(value):
        members = ((field.name, getattr(value, field.name)) for field in fields(value))
        return {name: plain(member) for name, member in members if member is not None}
    return value


def cells(row: object) -> dict[str, Any]:
    """A row by its columns' names."""
    table: type = type(row)
    return {column.name: plain(column.of(row)) for column in columns(table)}


class Table(Protocol):
    """A file of rows of one class, open for writing."""

    suffix: ClassVar[str]

    def __init__(self, path: Path, table: type) -> None: ...

    def add(self, row: object) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Jsonl:
    """A JSON object a line, in ASCII, so that no line ends but where a row does."""

    suffix: ClassVar[str] = ".jsonl"

    def __init__(self, path: Path, table: type) -> None:
        self._file = path.open("w", encoding="ascii", newline="\n")

    def add(self, row: object) -> None:
        self._file.write(json.dumps(cells(row), allow_nan=False, separators=(",", ":")) + "\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


class Parquet:
    """Row groups of so many rows, compressed by zstd. Raises ToolchainError where pyarrow is not installed."""

    suffix: ClassVar[str] = ".parquet"

    def __init__(self, path: Path, table: type) -> None:
        self._arrow = _pyarrow()
        self._schema = self._arrow.schema([(column.name, self._type(column.kind)) for column in columns(table)])
        self._rows: list[dict[str, Any]] = []
        self._writer = self._arrow.parquet.ParquetWriter(path, self._schema, compression="zstd")

    def add(self, row: object) -> None:
        self._rows.append(cells(row))
        if len(self._rows) == ROWS_A_GROUP:
            self._flush()

    def _flush(self) -> None:
        self._writer.write_table(self._arrow.Table.from_pylist(self._rows, self._schema))
        self._rows.clear()

    def _type(self, kind: Any) -> Any:
        """Arrow's type for values of a column."""
        arrow = self._arrow
        if get_origin(kind) is tuple:
            return arrow.list_(self._type(_without_none(get_args(kind)[0])[0]))
        if is_dataclass(kind):
            members = get_type_hints(kind).items()
            return arrow.struct([(name, self._type(_without_none(hint)[0])) for name, hint in members])
        return {str: arrow.string(), int: arrow.int64(), float: arrow.float64(), bool: arrow.bool_()}[kind]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._rows:
            self._flush()
        self._writer.close()


def _pyarrow() -> Any:
    try:
        import_module("pyarrow.parquet")
        return import_module("pyarrow")
    except ImportError as error:
        raise ToolchainError(
            "Parquet is written by pyarrow, which is not installed: `pip install 'treesearch[parquet]'`, "
            "or leave --parquet out for JSON Lines."
        ) from error
