"""Where a reference picks among equal numbers, and only its own order says which."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

ATEN = torch.ops.aten
OWN_FACTOR = 4.0
"""As many times as far from the best as the reference's own picks others may be."""
Answer = Callable[[], list[torch.Tensor]]
"""Has a reference answer."""


def met(answer: Answer) -> list[torch.Tensor]:
    """Where it picks among equal numbers (`TieWatch.found`)."""
    with TieWatch() as watch:
        answer()
    found: list[torch.Tensor] = watch.found
    return found


def indifferent(answer: Answer) -> bool:
    """Whether floating-point outputs, of which there are some, are the same whichever of equal numbers is taken."""
    own = answer()
    with OtherPicks():
        other = answer()
    pairs = [pair for pair in zip(own, other, strict=True) if pair[0].is_floating_point()]
    return bool(pairs) and all(torch.equal(*pair) for pair in pairs)


@dataclass(frozen=True)
class Picked:
    """What an output of indices was picked from, in float64, where the reference's own rounding makes some equal."""

    numbers: torch.Tensor
    axis: int
    most: float
    """How far what is picked may be from what should be."""

    def excuse(self, got: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
        """Which of a kernel's indices name a number as good as the one expected, none of them twice."""
        chosen, wanted = (self._along(index.long()) for index in (got, expected))
        length = self.numbers.shape[self.axis]
        named = self.numbers.gather(self.axis, chosen.clamp(0, length - 1))
        good = (named - self.numbers.gather(self.axis, wanted)).abs() <= self.most
        twice = (chosen.sort(self.axis).values.diff(dim=self.axis) == 0).any(self.axis, keepdim=True)
        return (good & (chosen >= 0) & (chosen < length) & ~twice).view(got.shape)

    def furthest(self, got: torch.Tensor, expected: torch.Tensor) -> float:
        """How far from what should be picked, at the most, the numbers are that some indices name."""
        named, wanted = (self.numbers.gather(self.axis, self._along(index.long())) for index in (got, expected))
        return float((named - wanted).abs().max())

    def _along(self, index: torch.Tensor) -> torch.Tensor:
        """With the axis that an operator has taken away."""
        shape = list(self.numbers.shape)
        shape[self.axis] = index.numel() * shape[self.axis] // max(1, self.numbers.numel())
        return index.reshape(shape)


def picked(answer: Answer, exact: Answer, own: Sequence[torch.Tensor]) -> dict[int, Picked]:
    """By their places, outputs that are what was picked among numbers that are equal as the reference rounds them, and
    of which none are in float64. As far as its own answers, `own`, are from the best, a few times, others may be."""
    if all(output.is_floating_point() for output in own) or not any(bool(one.any()) for one in met(answer)):
        return {}
    with TieWatch() as watch:
        outputs = exact()
    if any(bool(one.any()) for one in watch.found):
        return {}
    found = dict[int, Picked]()
    for place, output in enumerate(outputs):
        for numbers, axis, indices in watch.picks:
            if not output.is_floating_point() and torch.equal(output.long(), indices):
                most = OWN_FACTOR * Picked(numbers, axis, 0.0).furthest(own[place], output)
                found[place] = Picked(numbers, axis, most)
    return found


class TieWatch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Finds picks among equal floating-point numbers, by `argmax`, `max`, `topk`, `sort` and their like."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.picks: list[tuple[torch.Tensor, int, torch.Tensor]] = []
        """For each such operator in turn what it picked from, along which axis, and the indices."""
        self.found: list[torch.Tensor] = []
        """For each such operator in turn, where it did so: each slice that one of several maxima is taken of, or each
        pair of neighbours in order."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func in _PICKS and args[0].is_floating_point() and args[0].dim():
            x, *others = args
            axis = _axis(func, others, kwargs or {})
            found: torch.Tensor = _PICKS[func](*args, **(kwargs or {}))
            self.found.append(found)
            indices = result[1] if isinstance(result, tuple) else result
            self.picks.append((x.flatten() if axis is None else x, axis or 0, indices))
        return result


class OtherPicks(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Has these operators take others of equal numbers than they do: the last where they take the first."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        if func not in _PICKS or not args[0].is_floating_point() or not args[0].dim():
            return func(*args, **named)
        x, *others = args
        axis = _axis(func, others, named)
        axes = range(x.dim()) if axis is None else [axis]
        last = (x.numel() if axis is None else x.shape[axis]) - 1
        found = func(x.flip(tuple(axes)), *others, **named)
        return (found[0], last - found[1]) if isinstance(found, tuple) else last - found


def _axis(func: Any, others: list[Any], named: dict[str, Any]) -> int | None:
    """That along which is picked; None for all numbers of a tensor."""
    place, usual = _AXES.get(func, (0, None))
    axis: int | None = named.get("dim", others[place] if len(others) > place else usual)
    return axis


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
_AXES: dict[Any, tuple[int, int]] = {ATEN.topk.default: (1, -1), ATEN.sort.default: (0, -1)}
"""Where among the arguments behind the first an operator's axis is, and which it is where none is given."""
