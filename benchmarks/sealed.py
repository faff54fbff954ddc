"""Records in a file of their own, with a digest, for machines where no archive can be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypeVar

from treesearch.errors import UsageError
from treesearch.evaluation import bundle
from treesearch.records import codec

PREPARED = "prepared"
R = TypeVar("R")


def write(path: Path, record: object) -> None:
    bundle.write(path, json.dumps(codec.seal({PREPARED: codec.encode(record)}), indent=1) + "\n")


def read(path: Path, kind: type[R], what: str) -> R:
    """The record of that class. Raises UsageError for a file that `write` has not written; `what` names its content."""
    try:
        members = codec.unseal(codec.parse(bundle.load(path)))
        return codec.decode(kind, members.get(PREPARED))
    except ValueError as reason:
        raise UsageError(f"Cannot take {path} as {what}: {reason}; write it with `prepare -o FILE`.") from reason
