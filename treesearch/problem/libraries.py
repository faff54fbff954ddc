"""LIBRARIES of a problem: those that its kernels may call, which they otherwise may not."""

from __future__ import annotations

import ast
from functools import lru_cache

from treesearch.errors import ProblemError
from treesearch.languages.imports import LIBRARIES

NAME = "LIBRARIES"


@lru_cache(maxsize=64)
def allowed(source: str) -> tuple[str, ...]:
    """The libraries that a problem's source allows, as the linker calls them: `LIBRARIES = ("cublas",)`.

    Read without running the source, since whoever builds a kernel may have no use for the reference. Raises
    ProblemError for anything but known names, written out.
    """
    values = [value for statement in ast.parse(source).body if (value := _assigned(statement))]
    declared = _names(values[-1]) if values else ()
    if unknown := [name for name in declared if name not in LIBRARIES]:
        raise ProblemError(f"{NAME} has {', '.join(unknown)}; known are {', '.join(LIBRARIES)}.")
    return declared


def _assigned(statement: ast.stmt) -> ast.expr | None:
    """What a statement at the top of a module assigns to LIBRARIES."""
    match statement:
        case ast.Assign(targets=targets, value=value):
            return value if any(isinstance(each, ast.Name) and each.id == NAME for each in targets) else None
        case ast.AnnAssign(target=ast.Name(id=name), value=value):
            return value if name == NAME else None
    return None


def _names(value: ast.expr) -> tuple[str, ...]:
    try:
        names = ast.literal_eval(value)
    except ValueError:
        names = None
    if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
        raise ProblemError(f'{NAME} must be a list of names, written out: {NAME} = ["cublas"].')
    return tuple(names)
