"""The float64 answer to a call, and how far the reference itself is from it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from treesearch.errors import ProblemError
from treesearch.problem.reference import Reference, Value, convert

LOWER = (torch.float32, torch.float16, torch.bfloat16)


class LowerPrecisionWatch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notices any operator whose result has less than float64 precision."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for value in result if isinstance(result, tuple | list) else (result,):
            if isinstance(value, torch.Tensor) and value.dtype in LOWER:
                self.seen = True
        return result


def answer(reference: Reference, model: nn.Module, inputs: list[Value]) -> tuple[list[torch.Tensor], str]:
    """The reference computed in float64, and its label.

    The label is `float64` when a dispatch hook saw no operator of lower precision, else `native`; a reference
    that cannot run in float64 answers in its own precision. `model` is converted in place.
    """
    try:
        convert(model, _double)
        with _default_float64(), LowerPrecisionWatch() as watch:
            outputs = reference.exact(model, [_double_copy(value) for value in inputs])
    except ProblemError:
        return [], "native"
    return [_double(output) for output in outputs], "native" if watch.seen else "float64"


def _double(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double() if tensor.is_floating_point() else tensor


def _double_copy(value: Value) -> Value:
    """A forward may change its inputs: these are not the caller's."""
    if not isinstance(value, torch.Tensor):
        return value
    return value.to(torch.float64 if value.is_floating_point() else value.dtype, copy=True)


@contextmanager
def _default_float64() -> Iterator[None]:
    """So that constants made inside a forward do not round the answer."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
