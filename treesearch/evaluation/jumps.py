"""Where a floating-point answer jumps, as a sign or a number that is rounded to a scale does, and only rounding says to
which side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

AS_MANY = 32
"""How many times as many elements as the reference's own rounding changes may be other than float64's: what operands
are off by when they are asked what float32 leaves open is about as many times as much as it errs by."""
AT_LEAST = 64
"""So many of an output's may be in any case."""
APART = 2.0**-10
"""By what share of the larger one two answers differ, at the least, where one is beyond a jump."""
ROUNDED = 2.0**-5
"""The same of answers whose half-precision steps are a step off: some of them add up to per cents, and are no jump."""
JUMPING = frozenset(
    "round floor ceil trunc fix frac sign sgn signbit heaviside floor_divide remainder fmod threshold hardshrink lt le "
    "gt ge eq ne isclose argmax argmin argsort max min topk sort kthvalue median mode bucketize searchsorted nonzero "
    "histc".split()
)
"""Operators whose results may jump; `max` and the like since what is taken at their places may."""


@dataclass(frozen=True)
class Jumps:
    """Elements of a floating-point output that hang on a rounding."""

    places: torch.Tensor
    """Indices into the flattened output."""
    values: torch.Tensor
    """What they may be, float64's answer first, one row for each way to round."""
    most: int
    """How many of them may be other than float64 says."""
    rows: bool = False
    """Whether nothing is expected of rows with such elements: which of many numbers are picked that are nearly equal,
    there are more ways to say than can be tried."""

    def settled(self, got: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
        """What is expected where each of these elements may be what is nearest to a kernel's answer of what it may be;
        as it was if too many would be other than float64 says."""
        if self.rows:
            length = expected.shape[-1] if expected.dim() else 1
            left = torch.zeros(expected.numel(), dtype=torch.bool, device=expected.device)
            left[self.places] = True
            left = left.view(-1, length).any(dim=1, keepdim=True).expand(-1, length).reshape(expected.shape)
            return torch.where(left, got.double(), expected)
        nearest = (self.values - got.flatten()[self.places].double()).abs().argmin(dim=0)
        if int((nearest != 0).sum()) > self.most:
            return expected
        settled = expected.clone()
        settled.view(-1)[self.places] = self.values.gather(0, nearest[None])[0]
        return settled


def beyond(expected: torch.Tensor, own: torch.Tensor) -> bool:
    """Whether some of the reference's own answers are on another side of a jump than float64's."""
    return bool(_apart(expected.double(), own.double()).any())


def between(
    expected: torch.Tensor, own: torch.Tensor, others: Sequence[torch.Tensor], *, exact: bool, rows: bool = False
) -> Jumps:
    """Those between a float64 answer, if it is `exact`, the reference's own and what operands that are off give."""
    flat = torch.stack([one.flatten().double() for one in (expected, own, *others)])
    flat = torch.where(flat.isfinite(), flat, flat[0])  # what operands that are off may lead to is no answer then
    apart = _apart(flat[0], flat)
    places = apart.any(dim=0).nonzero().flatten()
    most = max(AT_LEAST, AS_MANY * int(apart[1].sum())) if exact else expected.numel()
    return Jumps(places, flat[:, places], most, rows)


def flipped(other: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """An answer where it is beyond a jump, and what is expected where it is merely rounded otherwise."""
    return torch.where(_apart(expected, other.double(), ROUNDED), other.double(), expected)


def _apart(expected: torch.Tensor, other: torch.Tensor, share: float = APART) -> torch.Tensor:
    return (other - expected).abs() > share * torch.maximum(other.abs(), expected.abs())


class Origins(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Finds out what the tensors that are not floating-point are made of."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._decisions: dict[int, frozenset[int]] = {}
        """By a tensor's identity, the results that floating-point numbers were turned into on the way to it."""
        self._kept: list[torch.Tensor] = []
        """What is known of, so that no identity comes twice."""

    def of(self, tensor: torch.Tensor) -> int:
        """How many results, such as numbers rounded to integers, truths and indices, a tensor is made of."""
        return len(self._decisions.get(id(tensor), ()))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        given = [one for one in tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)]
        made = [one for one in tree_leaves(result) if isinstance(one, torch.Tensor) and not one.is_floating_point()]
        before = frozenset[int]().union(*(self._decisions.get(id(one), frozenset()) for one in given))
        decided = any(one.is_floating_point() for one in given)
        for one in made:
            self._kept.append(one)
            new = {len(self._kept)} if decided else set[int]()
            self._decisions[id(one)] = self._decisions.get(id(one), frozenset()) | before | new
        return result


class JumpWatch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Finds out whether an operator was met whose results may jump where floating-point numbers cross an edge."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if args and isinstance(args[0], torch.Tensor) and args[0].is_floating_point():
            self.found = self.found or _may_jump(func.overloadpacket.__name__, kwargs or {})
        return func(*args, **(kwargs or {}))


def _may_jump(name: str, options: dict[str, Any]) -> bool:
    to = options.get("dtype") if name == "_to_copy" else None
    quantizes = "quantize" in name or (name == "div" and options.get("rounding_mode") is not None)
    return name in JUMPING or quantizes or (to is not None and not to.is_floating_point)
