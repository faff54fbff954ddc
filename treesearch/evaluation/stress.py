"""Unusual contents for inputs, of kinds that a user's data may be of."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeGuard

import torch

from treesearch.problem.reference import Value

ALIGNED, SMALL, SORTED, STRIPED = "aligned", "small", "sorted", "striped"
FAINT, GAINS, SIGNS = OF_PARAMETERS = "faint", "gains", "signs"
"""Kinds that change parameters alone, and so are nothing without any."""
WHOLE = 1e-3
"""How far from one the sum of shares, or the length of a unit vector, may be as it was rounded."""
SHORTEST_ORDER = 8
"""Fewer numbers in a row may be in order by chance."""
FAR = 28672.0
"""Nearly as large as float16 bears."""
JOLT = 2.0**-11
"""As far as rounding to float16 or to tf32 moves a number, beside it."""
LANES = (32, 64, 128)
"""Threads that columns are commonly dealt out to."""
Change = Callable[[torch.Tensor, torch.Generator], torch.Tensor]


def normal(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return torch.randn(like.shape, generator=generator, device=like.device)


def _spikes(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    drawn = torch.rand(x.shape, generator=generator, device=x.device)
    return torch.where(drawn < 1 / 64, 8 * x.sign(), torch.zeros((), device=x.device))


def _striped(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """All that is large lies in columns that one thread would get where columns are dealt out."""
    among = LANES[int(torch.randint(len(LANES), (1,), generator=generator, device=x.device))]
    place = torch.randint(among, (1,), generator=generator, device=x.device)
    columns = torch.arange(x.shape[-1] if x.dim() else 1, device=x.device)
    return torch.where(columns % among == place % columns.numel(), 16 + 8 * x, x).view(x.shape)


def _small(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """A hundredth to a ten-thousandth of the size, where what is added lest a root or a quotient fail counts."""
    return x * 2.0 ** -int(torch.randint(7, 15, (1,), generator=generator, device=x.device))


def _crest(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """One element of each row so high above a floor that the exponentials of the floor add up to about as much as its
    own: neither may be left out."""
    columns = x.shape[-1] if x.dim() else 1
    changed = (x / 16).reshape(-1, columns)
    place = torch.randint(columns, (len(changed), 1), generator=generator, device=x.device)
    above = 4 * torch.rand((len(changed), 1), generator=generator, device=x.device) - 1
    return changed.scatter(1, place, math.log(columns) + above).view(x.shape)


def _nearly(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Rows of another mean and size than nominal ones by a few times a usual tolerance: what takes them for nominal is
    wrong, and no small sample tells."""
    shape = (*x.shape[:-1], 1) if x.dim() else ()

    def slight() -> torch.Tensor:
        drawn = 2 * torch.rand(shape, generator=generator, device=x.device) - 1
        return drawn.sign() * (LEAST_SLIGHT + (MOST_SLIGHT - LEAST_SLIGHT) * drawn.abs())

    return x * (1 + slight()) + slight()


def _skewed(x: torch.Tensor, _: torch.Generator) -> torch.Tensor:
    """Of mean 0 and variance 1 where that is normally distributed, but exponentially: two moments do not tell."""
    drawn: torch.Tensor = torch.special.log_ndtr(x)
    return -drawn - 1


def _smooth(x: torch.Tensor, _: torch.Generator) -> torch.Tensor:
    """Sums of 16 neighbours, as large as one on average: what is large stands beside what is large."""
    for distance in (1, 2, 4, 8) if x.dim() else ():
        x = x + x.roll(distance, dims=-1)
    return x / 4


def _bounded(x: torch.Tensor) -> torch.Tensor:
    """Within ±64, and in the same order: what a clamp makes equal would leave open which of it is the largest."""
    return x / (1 + x.abs() / 64)


def _one_in_all(value: float) -> Change:
    """One element that is far from all others, which no sample of them tells of."""

    def change(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        changed = x.clone()
        changed.view(-1)[torch.randint(x.numel(), (1,), generator=generator, device=x.device)] = value
        return changed

    return change


def _mixed(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Rows each of another kind, as many of each, so that none speaks for the others; the first is a nominal one."""
    rows = x.reshape(-1, x.shape[-1] if x.dim() else 1)
    changed = rows.clone()
    if len(rows) > 1:
        kinds = (torch.randperm(len(rows) - 1, generator=generator, device=x.device) + 1) % len(MIXED)
        for number, change in enumerate(MIXED):
            where = 1 + (kinds == number).nonzero().flatten()
            changed[where] = change(rows[where], generator)
    return changed.view(x.shape)


def align(length: int, seed: int) -> Change:
    """The same values in another order: along axes of that length, half of the positions have the larger ones.

    Which those are is a function of the seed, the same for all tensors of a call. So what a reduction multiplies is
    not independent, as it is between nominal draws, where averages would do; and no mean or variance along the axis
    tells.
    """

    def change(x: torch.Tensor, _: torch.Generator) -> torch.Tensor:
        drawn = torch.Generator(x.device).manual_seed(seed)
        places = torch.randperm(length, generator=drawn, device=x.device)[: length // 2 * 2]
        upper, lower = places.chunk(2)
        for axis in [axis for axis, size in enumerate(x.shape) if size == length]:
            some, others = x.index_select(axis, upper), x.index_select(axis, lower)
            x = x.index_copy(axis, upper, torch.maximum(some, others))
            x = x.index_copy(axis, lower, torch.minimum(some, others))
        return x

    return change


def shared_length(shapes: Iterable[Sequence[int]]) -> int:
    """The longest axis that two tensors have, or of one where they share none; 1 where there is no tensor."""
    lengths = Counter(length for shape in shapes for length in {*shape})
    return max(lengths, key=lambda length: (lengths[length] > 1 and length > 1, length), default=1)


MIXED: tuple[Change, ...] = (
    lambda x, _: x,
    lambda x, _: 8 + x / 4,
    lambda x, _: 64 * x,
    lambda x, _: x / 128,
    lambda x, _: x.sort(dim=-1, descending=True).values,
    _crest,
)
"""Kinds of rows that may stand beside one another: the largest of each is far above a millionth of any other's."""
STRESS: dict[str, Change] = {
    "weights": lambda x, _: x,
    "offset": lambda x, _: 8 + x / 4,
    "close": lambda x, _: 64 + x / 16,
    "below": lambda x, _: -110 - 16 * x.abs(),
    "nearly": _nearly,
    "skewed": _skewed,
    "wide": lambda x, g: _bounded(x * torch.exp(1.5 * normal(x, g))),
    "large": lambda x, _: 64 * x,
    SMALL: _small,
    "mixed": _mixed,
    "ties": lambda x, _: x.round().clamp(-1, 1),
    "spikes": _spikes,
    "outliers": lambda x, g: torch.where(torch.rand(x.shape, generator=g, device=x.device) < 1 / 512, 64 * x, x),
    "crest": _crest,
    "peak": _one_in_all(FAR),
    "dip": _one_in_all(-FAR),
    "constant": lambda x, _: torch.full_like(x, 0.5),
    SORTED: lambda x, _: x.sort(dim=-1, descending=True).values,
    STRIPED: _striped,
    "smooth": _smooth,
    ALIGNED: lambda x, _: x,
    **{kind: lambda x, _: x for kind in OF_PARAMETERS},
}
"""How each kind of stress changes a nominal floating-point input (as float32).

`weights`, `gains` and `faint` (`regained`) and `signs` (`turned`) change only weights, and how `aligned` does depends
on the shapes of all tensors of the call (`align`). Only the largest input is `small` or `sorted`: products of small
numbers may be nothing, and of two whose rows all look alike, sums of products may nearly cancel, which no rounding
survives. Of two that are `striped` they do so now and then; such draws are avoided. All that is `below` is far below
zero, where a maximum that starts at zero is wrong, and the exponential of each number is nothing; what is `close`
together is so far from zero that the mean of its squares less the square of its mean is no variance any more."""

AMBIGUOUS = ("ties", "constant", "spikes", "close")
"""Kinds that leave the position of a maximum open, and so are unfair where an output is an index; and whether a number
is larger than another, unless the reference and the oracle agree."""
LEAST_SLIGHT, MOST_SLIGHT = 0.03, 0.15
"""How far rows are from nominal ones where they are nearly like them."""
LEAST_FAINT, MOST_FAINT = 0.02, 0.08
"""Share of a trained vector's size at which what it weighs, such as a residual branch, just counts: a few times a usual
tolerance."""


def altered(value: Value, change: Change, scale: float, generator: torch.Generator) -> Value:
    """A floating-point input changed within its own domain; all else, and what is nothing but 0 and ±1, as drawn."""
    if not isinstance(value, torch.Tensor) or _exact(value):
        return value
    changed = change(value.float(), generator) * scale
    low, high = float(value.min()), float(value.max())
    if low >= 0:  # non-negative inputs, such as probabilities or lengths, stay so
        changed = changed.abs()
    if (normalized := _normalized(changed, value)) is not None:
        return normalized.to(value.dtype)
    if low >= 0 and high <= 1:
        changed = changed.clamp(0, 1)
    return _structured(changed, value).to(value.dtype)


def _normalized(changed: torch.Tensor, drawn: torch.Tensor) -> torch.Tensor | None:
    """Shares of a whole, such as soft targets, and unit vectors, such as embeddings, stay so along the axis where they
    are, the last of several: kernels may rest on what a problem is about. None where they are nothing of the kind."""
    for axis in reversed(range(drawn.dim())):
        for order in (1, 2):
            if bool(((_norms(drawn, order, axis) - 1).abs() <= WHOLE).all()):
                changed = torch.where(_norms(changed, order, axis) > 0, changed, 1)  # of nothing: all alike
                return (changed / _norms(changed, order, axis)).float()
    return None


def _norms(tensor: torch.Tensor, order: int, axis: int) -> torch.Tensor:
    norms: torch.Tensor = torch.linalg.vector_norm(tensor, order, axis, keepdim=True, dtype=torch.float64)
    return norms


def _structured(changed: torch.Tensor, drawn: torch.Tensor) -> torch.Tensor:
    """Rows in order, such as edges of bins, and matrices that are triangular, or their own transposes, stay so: kernels
    may rest on what a problem is about."""
    if not drawn.dim() or not _varied(drawn):
        return changed
    for falling in (False, True) if drawn.shape[-1] >= SHORTEST_ORDER else ():
        if _in_order(drawn, falling=falling):
            return changed.sort(dim=-1, descending=falling).values
    if drawn.dim() < 2 or drawn.shape[-2] != drawn.shape[-1]:
        return changed
    if torch.equal(drawn.triu(), drawn):
        changed = changed.triu()
    if torch.equal(drawn.tril(), drawn):
        changed = changed.tril()
    if torch.equal(drawn, drawn.mT):
        changed = changed.triu() + changed.triu(1).mT
    return changed


def _in_order(tensor: torch.Tensor, *, falling: bool) -> bool:
    left, right = tensor[..., :-1], tensor[..., 1:]
    return bool((left >= right if falling else left <= right).all())


def perturbed(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Weights that are all ones or zeros would hide a kernel that ignores them.

    Masks, signs and constants that mean something exact (-1, 0 and 1, infinities, integers) are left alone; values
    that are never negative, such as variances, stay so.
    """
    if _exact(tensor):
        return tensor
    if not bool(tensor.any()):
        return (0.1 * normal(tensor, generator)).to(tensor.dtype)
    if _varied(tensor):
        return tensor
    factors = 0.5 + torch.rand(tensor.shape, generator=generator, device=tensor.device)
    return (tensor.float() * factors).to(tensor.dtype)


def regained(tensor: torch.Tensor, scale: float, generator: torch.Generator, share: float = 1.0) -> torch.Tensor:
    """Weights as large as they become by training, so that no part of a network is without a share in its output.

    Where initial ones are tiny, as a layer's scale of 1e-6 is, or wear a signal down layer by layer, outputs hardly
    depend on what a kernel leaves out. Matrices get He et al.'s normal distribution (https://arxiv.org/abs/1502.01852),
    whose variance is 2 over the inputs of a neuron, and vectors the standard one times `share`, both times `scale`;
    what is left alone is the same as above.
    """
    if _exact(tensor):
        return tensor
    gain: float = scale * ((2 / tensor[0].numel()) ** 0.5 if tensor.dim() > 1 else share)
    drawn = gain * normal(tensor, generator)
    nonnegative = bool((tensor >= 0).all() and tensor.any())
    return (drawn.abs() if nonnegative else drawn).to(tensor.dtype)


def faint(generator: torch.Generator) -> float:
    """A share of the size of trained vectors, each as likely as its double."""
    drawn = float(torch.rand(1, generator=generator, device=generator.device))
    return float(LEAST_FAINT * (MOST_FAINT / LEAST_FAINT) ** drawn)


def turned(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Weights a third of which have the other sign, as training may give it to those that begin as ones."""
    if _exact(tensor):
        return tensor
    return torch.where(torch.rand(tensor.shape, generator=generator, device=tensor.device) < 1 / 3, -tensor, tensor)


def _is_floating(value: Value) -> TypeGuard[torch.Tensor]:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def largest_floating(values: Sequence[Value]) -> Sequence[int]:
    """Where the largest floating-point tensor is, as the only element; of several the first; empty without one."""
    sizes = [value.numel() if _is_floating(value) else 0 for value in values]
    return [sizes.index(max(sizes))] if any(sizes) else []


def jolted(
    tensor: torch.Tensor, generator: torch.Generator, *, share: float = JOLT, opposite: bool = False
) -> torch.Tensor:
    """As if each number had been rounded, up or down, by a share of it; what is not floating-point stays."""
    signs = torch.randint(0, 2, tensor.shape, generator=generator, device=tensor.device) * 2 - 1
    return _off(tensor, -signs if opposite else signs, share)


def nudged(tensor: torch.Tensor, generator: torch.Generator, *, share: float, opposite: bool = False) -> torch.Tensor:
    """Each number off, up or down, by as much as a share of it; what is not floating-point stays."""
    drawn = 2 * torch.rand(tensor.shape, generator=generator, device=tensor.device) - 1
    return _off(tensor, -drawn if opposite else drawn, share)


def scaled(
    tensor: torch.Tensor,
    generator: torch.Generator,
    *,
    share: float,
    only: torch.Tensor | None = None,
    opposite: bool = False,
) -> torch.Tensor:
    """All numbers off, up or down, by a share of each, or those of one tensor alone."""
    if only is not None and only is not tensor:
        return tensor
    return _off(tensor, torch.full_like(tensor, -1.0 if opposite else 1.0, dtype=torch.float64), share)


def _off(tensor: torch.Tensor, directions: torch.Tensor, share: float) -> torch.Tensor:
    if not tensor.is_floating_point():
        return tensor
    moved: torch.Tensor = tensor.double() * (1.0 + share * directions)
    return moved.to(tensor.dtype)


def _exact(tensor: torch.Tensor) -> bool:
    if not tensor.is_floating_point() or not tensor.numel() or not bool(torch.isfinite(tensor).all()):
        return True
    return _varied(tensor) and bool(((tensor == 0) | (tensor.abs() == 1)).all())


def _varied(tensor: torch.Tensor) -> bool:
    return bool((tensor != tensor.flatten()[0]).any())
