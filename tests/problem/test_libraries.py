"""LIBRARIES of a problem: read without running it, and the same when it runs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from treesearch.errors import ProblemError
from treesearch.problem import libraries
from treesearch.records import Problem

Make = Callable[..., Problem]
DOUBLE = ("x: return x * 2", "torch.randn(4)")


@pytest.mark.parametrize(
    ("declared", "names"),
    [
        ("", ()),
        ("LIBRARIES = ()", ()),
        ("LIBRARIES = ['cublas']", ("cublas",)),
        ("LIBRARIES = ('cublas', 'cublasLt')", ("cublas", "cublasLt")),
        ("LIBRARIES: tuple[str, ...] = ('openblas',)", ("openblas",)),
        ("OTHER = 1  # LIBRARIES = ['cublas']", ()),
    ],
)
def test_what_a_problem_allows_is_read_from_its_source(handmade: Make, declared: str, names: tuple[str, ...]) -> None:
    assert libraries.allowed(handmade(*DOUBLE, extra=declared).source) == names


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ("LIBRARIES = True", "must be a list of names, written out"),
        ("LIBRARIES = 'cublas'", "must be a list of names, written out"),
        ("LIBRARIES = [name for name in ('cublas',)]", "must be a list of names, written out"),
        ("LIBRARIES = ['cublas', 7]", "must be a list of names, written out"),
        ("LIBRARIES = ['torch', 'c']", "LIBRARIES has torch, c; known are cublas, "),
        ("LIBRARIES = []\nLIBRARIES += ['cublas']", "is set more than once, or by more than a list"),
        ("if True: LIBRARIES = ['cublas']", "is set more than once, or by more than a list"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(handmade: Make, declared: str, told: str) -> None:
    with pytest.raises(ProblemError) as caught:
        handmade(*DOUBLE, extra=declared)
    assert told in str(caught.value)
