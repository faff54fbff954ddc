"""Where a reference picks among equal numbers, and only its own order says which."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

ATEN = torch.ops.aten
OWN_FACTOR = 4.0
"""As many times as far from the best as the reference's own picks others may be."""
COARSE = torch.bfloat16, torch.float16
STEPS = 2
"""By so many steps of a type with less than float32's precision numbers of it are not apart: each was rounded."""
UNDERFLOW = torch.finfo(torch.float32).tiny
"""What is smaller may be nothing."""
ORDERS, MANY_ORDERS = 4, 48
"""In how many orders equals are picked from: to see whether anything depends on it, and what may come of each pick."""
Answer = Callable[[], list[torch.Tensor]]
"""Has a reference answer."""


@dataclass(frozen=True)
class Pick:
    """What an operator such as `argmax`, `topk` or `sort` has picked."""

    numbers: torch.Tensor
    """What from."""
    axis: int
    indices: torch.Tensor
    first: bool
    """Whether it promises the first of equals."""
    tied: torch.Tensor
    """Where it did so among equals: each slice that one of several maxima is taken of, or each pair of neighbours in
    order."""
    version: int
    """Of the numbers, which a reference that picks one after the other may change in place."""

    @property
    def stands(self) -> bool:
        """Whether the numbers are what they were."""
        return self.numbers._version == self.version

    def alike(self, other: Pick) -> bool:
        """Whether as many numbers were picked from, along the same axis."""
        return self.numbers.shape == other.numbers.shape and self.axis == other.axis


def met(answer: Answer) -> list[torch.Tensor]:
    """Where it picks among equal numbers (`Pick.tied`)."""
    with TieWatch() as watch:
        answer()
    picks: list[Pick] = watch.picks
    return [pick.tied for pick in picks]


def unsaid(answer: Answer, picked: Mapping[int, Picked]) -> bool | None:
    """Of an answer in which equals are picked from: whether what is not floating-point in it is to be left out, as
    where that is not all `picked`; None where nothing of the answer can be judged."""
    own = answer()
    floating = [place for place, one in enumerate(own) if one.is_floating_point()]
    if any(not torch.equal(own[place], other[place]) for other in others(answer) for place in floating):
        return None
    known = len(floating) + len(picked) == len(own)
    return not known if known or floating else None


@dataclass(frozen=True)
class Picked:
    """What an output of indices was picked from, in float64, or as the reference rounds it on the way."""

    numbers: torch.Tensor
    axis: int
    most: float
    """How far what is picked may be from what should be."""
    share: float
    """And by what share of the larger of the two: small numbers have an order as well."""
    promised: torch.Tensor | None = None
    """Where the reference promises the first of equals, and they are equal before anything was rounded."""
    rounded: Pick | None = None
    """The reference's own, of numbers as it rounds them: those that it makes equal are as good as each other."""

    def excuse(self, got: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
        """Which of a kernel's indices name a number as good as the one expected, none of them twice."""
        chosen, wanted = (self._along(index.long()) for index in (got, expected))
        length = self.numbers.shape[self.axis]
        within = chosen.clamp(0, length - 1)
        named, best = self._named(within), self._named(wanted)
        larger = torch.maximum(named.abs(), best.abs())
        most = torch.minimum(self.share * larger, torch.full_like(larger, self.most))
        good = (named == best) | ((named - best).abs() <= most + self._step * larger + UNDERFLOW)
        if self.rounded is not None:
            own = self.rounded.numbers
            good |= own.gather(self.axis, within) == own.gather(self.axis, self._along(self.rounded.indices))
        twice = (chosen.sort(self.axis).values.diff(dim=self.axis) == 0).any(self.axis, keepdim=True)
        excused = (good & (chosen >= 0) & (chosen < length) & ~twice).view(got.shape)
        return excused if self.promised is None else excused & ~self.promised.view(got.shape)

    @property
    def _step(self) -> float:
        """Of a number that others are as good as it within."""
        dtype = self.numbers.dtype
        return 0.0 if dtype in (torch.float32, torch.float64) else STEPS * torch.finfo(dtype).eps

    def allowing(self, own: torch.Tensor, expected: torch.Tensor) -> Picked:
        """The same with a few times as much as the reference's own indices are from what should be picked."""
        named, wanted = (self._named(self._along(index.long())) for index in (own, expected))
        if not named.numel():
            return self
        apart = (named - wanted).abs().nan_to_num(0.0, 0.0, 0.0)
        larger = torch.maximum(named.abs(), wanted.abs()).clamp_min(UNDERFLOW)
        return replace(self, most=OWN_FACTOR * float(apart.max()), share=OWN_FACTOR * float((apart / larger).max()))

    def _named(self, index: torch.Tensor) -> torch.Tensor:
        return self.numbers.gather(self.axis, index).double()

    def _along(self, index: torch.Tensor) -> torch.Tensor:
        """With the axis that an operator has taken away."""
        shape = list(self.numbers.shape)
        shape[self.axis] = index.numel() * shape[self.axis] // max(1, self.numbers.numel())
        return index.reshape(shape)


def picked(
    picks: Sequence[Pick],
    exact: Sequence[torch.Tensor],
    own_picks: Sequence[Pick],
    own: Sequence[torch.Tensor],
    *,
    nominal: bool,
) -> dict[int, Picked]:
    """By their places, outputs that are what was picked on the way to `exact`, the float64 answers.

    As far as the reference's own answers, `own`, are from the best, a few times, others may be. Of equals any will do,
    also of those that its own rounding makes equal, but where an operator promises the first, of a `nominal` call's
    that nothing but the inputs makes equal.
    """
    found = dict[int, Picked]()
    for place, output in enumerate(exact):
        pick = None if output.is_floating_point() else _that_gave(output, picks)
        if pick is not None:
            strict = nominal and pick.first and pick.numbers.dtype is torch.float64
            rounded = _that_gave(own[place], [one for one in own_picks if one.alike(pick)])
            of = Picked(pick.numbers, pick.axis, 0.0, 0.0, pick.tied if strict else None, rounded)
            found[place] = of.allowing(own[place], output)
    return found


def _that_gave(output: torch.Tensor, picks: Sequence[Pick]) -> Pick | None:
    """The last that an output of indices is the result of."""
    fitting = (pick for pick in reversed(picks) if pick.stands and torch.equal(output.long(), pick.indices))
    return next(fitting, None)


class TieWatch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Finds picks among floating-point numbers, by `argmax`, `max`, `topk`, `sort` and their like."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.picks: list[Pick] = []
        """Of each such operator in turn."""
        self._led_to: dict[int, torch.Tensor] = {}
        """By their identities, the indices that were picked and what was made of them."""

    def led_to(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor was made of indices that were picked."""
        return id(tensor) in self._led_to

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        result = func(*args, **named)
        if func in _PICKS and args[0].is_floating_point() and args[0].dim():
            x, *others = args
            axis = _axis(func, others, named)
            indices = result[1] if isinstance(result, tuple) else result
            numbers = x.flatten() if axis is None else x
            tied = _PICKS[func](*args, **named)
            self.picks.append(Pick(numbers, axis or 0, indices, func in _FIRST, tied, numbers._version))
            self._led_to[id(indices)] = indices
        if any(id(one) in self._led_to for one in tree_leaves((args, named))):
            self._led_to |= {id(one): one for one in tree_leaves(result) if isinstance(one, torch.Tensor)}
        return result


def others(answer: Answer) -> Iterator[list[torch.Tensor]]:
    """What is answered where others of equals are picked, in some orders."""
    for seed in range(ORDERS):
        with OtherPicks(seed):
            found = answer()
        yield found


def rounded_otherwise(answer: Answer, most: int) -> Iterator[list[torch.Tensor]]:
    """What is answered where numbers of less than float32's precision are a step off, and others of equals picked; many
    times, though no more than `most`."""
    for seed in range(min(most, MANY_ORDERS)):
        with OtherRoundings(seed):
            found = answer()
        yield found


class OtherPicks(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Has these operators take others of equal numbers than they do, by picking from numbers in another order."""

    def __init__(self, seed: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        if func not in _PICKS or not args[0].is_floating_point() or not args[0].dim():
            return func(*args, **named)
        x, *rest = args
        axis = _axis(func, rest, named)
        numbers = x.flatten() if axis is None else x
        order = torch.randperm(numbers.shape[axis or 0], generator=self._generator).to(x.device)
        found = func(numbers.index_select(axis or 0, order), *rest, **named)
        return (found[0], order[found[1]]) if isinstance(found, tuple) else order[found]


class OtherRoundings(OtherPicks):  # type: ignore[no-untyped-call]
    """Has these operators do so that do not promise the first, and all others round what they give to a type with less
    than float32's precision a step up or down, by lot."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in _PICKS and func not in _FIRST:
            return super().__torch_dispatch__(func, types, args, kwargs)
        result = func(*args, **(kwargs or {}))
        keeps = func in _PICKS or func.is_view or func._schema.is_mutable
        return result if keeps else tree_map_only(torch.Tensor, self._a_step_off, result)

    def _a_step_off(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dtype not in COARSE:
            return tensor
        steps = torch.randint(-1, 2, tensor.shape, generator=self._generator, dtype=torch.int16).to(tensor.device)
        moved = (tensor.view(torch.int16) + steps).view(tensor.dtype)
        return torch.where(tensor.isfinite() & (tensor != 0), moved, tensor)


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
_FIRST = frozenset({ATEN.argmax.default, ATEN.max.dim, ATEN.argmin.default, ATEN.min.dim})
"""As torch's documentation says of them; of `topk` and `sort` it does not."""
_AXES: dict[Any, tuple[int, int]] = {ATEN.topk.default: (1, -1), ATEN.sort.default: (0, -1)}
"""Where among the arguments behind the first an operator's axis is, and which it is where none is given."""
