"""Problems: PyTorch references in KernelBench's format, found by name or path and turned into a C signature."""

from __future__ import annotations

import ast
import difflib
from dataclasses import dataclass
from pathlib import Path

from treesearch import resources
from treesearch.errors import ProblemError
from treesearch.records import Problem


@dataclass(frozen=True)
class Listed:
    """A problem that ships with treesearch; `summary` is the first line of its docstring."""

    name: str
    path: Path
    summary: str


def shipped() -> tuple[Listed, ...]:
    """The problems that ship with treesearch, without running any of them."""
    paths = sorted(resources.problems().glob("*.py"))
    return tuple(Listed(path.stem, path, _summary(path.read_text())) for path in paths)


def find(name: str) -> Path:
    """The file behind a shipped problem's name or a path to a KernelBench-format file."""
    path = Path(name)
    if path.suffix == ".py":
        if path.is_file():
            return path
        raise ProblemError(f"There is no problem file {name}.")
    shipped_path = resources.problems() / f"{name}.py"
    if shipped_path.is_file():
        return shipped_path
    names = [listed.name for listed in shipped()]
    close = difflib.get_close_matches(name, names, n=1)
    guess = f" Did you mean {close[0]}?" if close else f" Shipped problems: {', '.join(names)}."
    raise ProblemError(f"There is no problem named {name!r}, and a path to one ends in .py.{guess}")


def load(name: str) -> Problem:
    """Load a problem by name or path, run its reference (a large one without data), and derive its signature.

    Needs no GPU. Raises ProblemError, with the reason, for a reference that fails or cannot be expressed as a C
    function.
    """
    path = find(name)
    try:
        source = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ProblemError(f"Cannot read the problem {path}: {error}.") from error
    return from_source(path.stem, source)


def from_source(name: str, source: str) -> Problem:
    """Like `load`, for a source text in hand."""
    from treesearch.problem import signature
    from treesearch.problem.reference import Reference

    reference = Reference(name, source)
    derived = signature.derive(reference)
    return Problem(name, source, derived.signature, reference.tolerance, derived.precision, derived.flops)


def _summary(source: str) -> str:
    try:
        docstring = ast.get_docstring(ast.parse(source)) or ""
    except SyntaxError:
        return "(not valid Python)"
    return docstring.split("\n", 1)[0]
