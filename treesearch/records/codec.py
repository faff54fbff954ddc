"""Records as JSON values and back, strictly: what does not fit is refused with the name of the field.

Tuples are lists, enumerations their values, and numbers that JSON lacks the texts `nan`, `inf` and `-inf`. A field that
is left out takes its default; one that no record has is an error.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, NoReturn, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
R = TypeVar("R")

DIGEST = "digest"
NOT_FINITE = ("nan", "inf", "-inf")


def encode(record: object) -> Json:
    """A record, or a value that a record may hold, as a JSON value."""
    if record is None or isinstance(record, bool | int):
        return record
    if isinstance(record, str):
        return str(record)
    if isinstance(record, float):
        return record if math.isfinite(record) else str(record)
    if isinstance(record, tuple):
        return [encode(item) for item in record]
    if is_dataclass(record):
        return {field.name: encode(getattr(record, field.name)) for field in fields(record)}
    raise TypeError(f"a {type(record).__name__} is no record")


def decode(cls: type[R], value: object) -> R:
    """The record of class `cls` that `encode` made a JSON value of. Raises ValueError that names the field at fault."""
    return cast(R, _value(cls, value, cls.__name__))


def parse(text: str) -> Json:
    """The JSON value that a text says. Raises ValueError for anything else, nesting without end included."""
    try:
        return cast(Json, json.loads(text, parse_constant=_refuse_constant))
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON ({error})") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def canonical(value: Json) -> str:
    """The one text, in ASCII and without line breaks, that stands for a JSON value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def seal(members: Mapping[str, Json]) -> dict[str, Json]:
    """The members with a digest over all of them."""
    return {**members, DIGEST: _digest(members)}


def unseal(value: object) -> dict[str, Json]:
    """The members that were sealed. Raises ValueError where the digest is absent or that of something else.

    That finds damage. It is no signature: whoever changes a member on purpose can make a new digest.
    """
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    members = {name: member for name, member in value.items() if name != DIGEST}
    if DIGEST not in value:
        raise ValueError("it has no digest")
    if value[DIGEST] != _digest(members):
        raise ValueError("its digest does not match its content")
    return members


def _digest(members: Mapping[str, Json]) -> str:
    return hashlib.sha256(canonical(dict(members)).encode()).hexdigest()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _value(kind: Any, value: object, where: str) -> object:
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _optional(kind, value, where)
    if origin is tuple:
        return _tuple(kind, value, where)
    if is_dataclass(kind):
        return _record(cast(type, kind), value, where)
    if issubclass(kind, Enum):
        return _member(kind, value, where)
    if kind is float:
        return _float(value, where)
    if type(value) is kind:
        return value
    raise _unfit(value, kind.__name__, where)


def _optional(kind: Any, value: object, where: str) -> object:
    if value is None:
        return None
    inner = next(one for one in get_args(kind) if one is not NoneType)
    return _value(inner, value, where)


def _tuple(kind: Any, value: object, where: str) -> tuple[object, ...]:
    if not isinstance(value, list):
        raise _unfit(value, "list", where)
    inner = get_args(kind)[0]
    return tuple(_value(inner, item, f"{where}[{index}]") for index, item in enumerate(value))


def _record(cls: type, value: object, where: str) -> object:
    if not isinstance(value, dict):
        raise _unfit(value, "object", where)
    kinds = _kinds(cls)
    if unknown := sorted(value.keys() - kinds.keys()):
        raise ValueError(f"{where} has a field {unknown[0]!r} that is not known here")
    given = {name: _value(kinds[name], member, f"{where}.{name}") for name, member in value.items()}
    try:
        return cls(**given)
    except TypeError as error:
        missing = [field.name for field in fields(cls) if field.name not in given and _required(field)]
        raise ValueError(f"{where} lacks {', '.join(missing)}") from error
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def _required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


@cache
def _kinds(cls: type) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}


def _member(kind: type[Enum], value: object, where: str) -> Enum:
    try:
        return kind(value)
    except ValueError as error:
        raise _unfit(value, kind.__name__, where) from error


def _float(value: object, where: str) -> float:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    if not known and value not in NOT_FINITE:
        raise _unfit(value, "number", where)
    try:
        return float(cast(str, value))
    except OverflowError as error:
        raise _unfit(value, "number", where) from error


def _unfit(value: object, wanted: str, where: str) -> ValueError:
    return ValueError(f"{where} is {ascii(value)[:60]}, which is no {wanted}")
