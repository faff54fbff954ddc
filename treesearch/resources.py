"""Where the shipped files are: prompts, problems and the record.

In a checkout they lie beside the package, at the top of the repository; an installed wheel carries them inside it,
as `treesearch/_data`.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def _root() -> Path:
    installed = _PACKAGE / "_data"
    return installed if installed.is_dir() else _PACKAGE.parent


def prompts() -> Path:
    """Directory of the prompt templates, `*.md.j2`."""
    return _root() / "prompts"


def problems() -> Path:
    """Directory of the shipped problems, one `*.py` each, in KernelBench's format."""
    return _root() / "problems"


def record() -> Path:
    """The shipped record, an SQLite archive that is only ever read."""
    return _root() / "archive.db"
