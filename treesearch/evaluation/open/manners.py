"""Manners in which users call a module, which is timed in one: in train mode, without gradients, on dense inputs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.autograd.graph import increment_version

from treesearch.evaluation.open.contract import Broken, memory, modes
from treesearch.evaluation.open.loans import LOT, unheld
from treesearch.problem.reference import buffers, weights

EVALUATING = "after .eval()"
INFERRING = "after .eval(), in inference mode"
DIFFERENTIATED = "with gradients enabled"
COPIED = "through copy.deepcopy(), while the model itself holds zeros"
REFILLED = "on inputs that lie where others lay before"
TRANSPOSED = "on transposed inputs"
SPACED = "on every other element of tensors"
PADDED = "on inputs with gaps in them"
MISALIGNED = "on inputs that begin at no round address"
IN_EVAL = (EVALUATING, INFERRING)


def call(manner: str, model: nn.Module, forward: Callable[..., Any], inputs: Sequence[Any], layouts: Layouts) -> Any:
    """What `forward(model, inputs)` returns on inputs laid out so, or INFERRING. The model is afterwards as it was
    before. Raises whatever the model raises."""
    if manner in LAYOUTS:
        return forward(model, layouts.laid_out(inputs, manner))
    with evaluating(model), torch.inference_mode():
        return forward(model, inputs)


Layout = Callable[[torch.Tensor], torch.Tensor]
"""The same values otherwise in memory."""


def _transposed(value: torch.Tensor) -> list[Layout]:
    """With a dimension elsewhere in memory: the last one first, any one last, as in `channels_last`, or a neighbour of
    it in its place."""
    last = value.dim() - 1
    pairs = {(last, 0), *((one, last) for one in range(last)), *((one, one + 1) for one in range(last))}
    return [partial(_moved, one=one, other=other) for one, other in sorted(pairs)] if last > 0 else []


def _moved(value: torch.Tensor, one: int, other: int) -> torch.Tensor:
    return value.movedim(one, other).contiguous().movedim(other, one)


def _spaced(_: torch.Tensor) -> list[Layout]:
    return [lambda value: torch.stack([value, torch.zeros_like(value)], dim=-1)[..., 0]]


def _padded(value: torch.Tensor) -> list[Layout]:
    """As if it were a part of something larger along a dimension: by one at its end, or the second half of it."""
    alongs = range(1, value.dim()) if value.dim() > 1 else range(1)
    return [partial(_part, along=along, half=half) for along in alongs for half in (False, True)]


def _part(value: torch.Tensor, along: int, half: bool) -> torch.Tensor:
    size = value.shape[along]
    beside = torch.zeros_like(value if half else value.narrow(along, 0, 1))
    wider = torch.cat([beside, value] if half else [value, beside], dim=along)
    return wider.narrow(along, size if half else 0, size)


def _misaligned(_: torch.Tensor) -> list[Layout]:
    """So many elements behind a round address."""
    return [partial(_behind, elements=elements) for elements in (1, 2, 4, 8)]


def _behind(value: torch.Tensor, elements: int) -> torch.Tensor:
    return torch.cat([value.new_zeros(elements), value.reshape(-1)])[elements:].view(value.shape)


def _leaf(value: Any) -> Any:
    """As what is to be optimized itself."""
    return value.requires_grad_() if _differentiable(value) else value


def _later(value: Any) -> Any:
    """As what was made of leaves, by the layers before."""
    return _Made.apply(value.requires_grad_()) if _differentiable(value) else value  # type: ignore[no-untyped-call]


def as_data(value: Any) -> Any:
    """As data, of which no gradient is wanted."""
    return value


def _differentiable(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())


class _Made(torch.autograd.Function):
    """The same numbers in the same memory."""

    @staticmethod
    def forward(context: Any, value: torch.Tensor) -> torch.Tensor:
        return unheld(value)

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient


Origin = Callable[[Any], Any]
ORIGINS: tuple[Origin, ...] = (_leaf, _later, as_data)
_KINDS: dict[str, Callable[[torch.Tensor], list[Layout]]] = {
    TRANSPOSED: _transposed,
    PADDED: _padded,
    SPACED: _spaced,
    MISALIGNED: _misaligned,
}
_OF_SOME = {f"{manner}, some of them": manner for manner in _KINDS}
SOME = (*_OF_SOME,)
LAYOUTS = (*_KINDS, *_OF_SOME)
TIMES = {TRANSPOSED: 3, PADDED: 3, MISALIGNED: 2, SPACED: 1}
"""How often inputs are laid out so, all of them, and as often some."""
ALL = (
    *2 * (EVALUATING, COPIED, INFERRING, REFILLED),
    *3 * (DIFFERENTIATED,),
    *(manner for kind, times in TIMES.items() for manner in [kind] * times),
    *(manner for manner, kind in _OF_SOME.items() for _ in range(TIMES[kind])),
)
"""Each comes twice at least, with other contents: what a module keeps of the first call is wrong in the second."""


class Layouts:
    """Lays inputs out, of each manner's kinds one after the other, in an order drawn by lot."""

    def __init__(self) -> None:
        self._left: dict[tuple[str, int], list[int]] = {}
        """Kinds that have not had their turn, by manner and place of the input."""
        self._of_two = 1
        self._origins = LOT.sample(ORIGINS, len(ORIGINS))
        """Where the next inputs come from whose model is to be differentiated."""

    def origin(self) -> Origin:
        """Each in its turn."""
        self._origins.append(self._origins.pop(0))
        return self._origins[-1]

    def laid_out(self, inputs: Sequence[Any], manner: str) -> list[Any]:
        """The same values otherwise in memory: in all tensors of several, or in some of them."""
        places = [place for place, value in enumerate(inputs) if isinstance(value, torch.Tensor) and value.numel() > 1]
        if manner in SOME and len(places) == 2:  # the second alone first: a module may look at how the first one lies
            places, self._of_two = [places[self._of_two]], 1 - self._of_two
        elif manner in SOME and places:
            places = LOT.sample(places, LOT.randint(1, max(1, len(places) - 1)))
        kind = _OF_SOME.get(manner, manner)
        return [self._layout(kind, place, value) if place in places else value for place, value in enumerate(inputs)]

    def _layout(self, manner: str, place: int, value: torch.Tensor) -> torch.Tensor:
        kinds = _KINDS[manner](value)
        if not kinds:
            return value
        left = self._left.setdefault((manner, place), [])
        if not left:
            left += LOT.sample(range(len(kinds)), len(kinds))
        return kinds[left.pop()](value)


def copied(model: nn.Module) -> nn.Module:
    """A deep copy, made after `.eval()` and in train mode like the model. Raises Broken where it is none."""
    with evaluating(model):
        found = copy.deepcopy(model)
        if modes(found) != modes(model):
            raise Broken("copy.deepcopy() of the model is in another mode: training, or requires_grad of parameters")
    found.train()
    own = {memory(tensor) for tensor in _tensors(model)}
    if found is model or any(memory(tensor) in own for tensor in _tensors(found)):
        raise Broken("copy.deepcopy() of the model has memory in common with it")
    return found


def update(copied: nn.Module, model: nn.Module) -> None:
    """Give a copy the contents that the model has got since."""
    for own, wanted in ((weights(copied), weights(model)), (buffers(copied), buffers(model))):
        for name, tensor in wanted.items():
            own[name].copy_(tensor)
    increment_version([*copied.parameters(), *copied.buffers()])


def _tensors(model: nn.Module) -> list[torch.Tensor]:
    return [tensor for tensor in (*model.parameters(), *model.buffers()) if tensor.numel()]


@contextmanager
def frozen(model: nn.Module) -> Iterator[None]:
    """By lot none of the parameters want gradients, some do, or all, as where a part of a network is trained."""
    share = LOT.choice((0.0, 0.0, 0.5, 1.0))
    chosen = [parameter for parameter in model.parameters() if parameter.requires_grad and LOT.random() < share]
    for parameter in chosen:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in chosen:
            parameter.requires_grad_(True)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """After `.eval()`, once for all calls in the block."""
    model.eval()
    try:
        yield
    finally:
        model.train()
