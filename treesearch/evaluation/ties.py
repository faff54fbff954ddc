"""Where a reference picks among equal numbers, and only its own order says which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

ATEN = torch.ops.aten


class TieWatch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Finds picks among equal floating-point numbers, by `argmax`, `max`, `topk`, `sort` and their like."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: list[torch.Tensor] = []
        """For each such operator in turn, where it did so: each slice that one of several maxima is taken of, or each
        pair of neighbours in order."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in _PICKS and args[0].is_floating_point() and args[0].dim():
            found: torch.Tensor = _PICKS[func](*args, **(kwargs or {}))
            self.found.append(found)
        return func(*args, **(kwargs or {}))


def _largest(x: torch.Tensor, dim: int | None = None, *_: Any, **__: Any) -> torch.Tensor:
    x, dim = (x.flatten(), 0) if dim is None else (x, dim)
    return (x == x.amax(dim, keepdim=True)).sum(dim) > 1


def _smallest(x: torch.Tensor, *args: Any, **named: Any) -> torch.Tensor:
    return _largest(-x, *args, **named)


def _topk(x: torch.Tensor, k: int, dim: int = -1, largest: bool = True, *_: Any, **__: Any) -> torch.Tensor:
    return torch.topk(x, min(k + 1, x.shape[dim]), dim, largest).values.diff(dim=dim) == 0


def _sorted(x: torch.Tensor, dim: int = -1, *_: Any, **__: Any) -> torch.Tensor:
    return torch.sort(x, dim=dim).values.diff(dim=dim) == 0


_PICKS: dict[Any, Callable[..., torch.Tensor]] = {
    ATEN.argmax.default: _largest,
    ATEN.max.dim: _largest,
    ATEN.argmin.default: _smallest,
    ATEN.min.dim: _smallest,
    ATEN.topk.default: _topk,
    ATEN.sort.default: _sorted,
}
"""A stable sort leaves nothing open."""
