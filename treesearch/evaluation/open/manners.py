"""Manners in which users call a module, which is timed in one: in train mode, without gradients, on dense inputs."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.autograd.graph import increment_version

from treesearch.evaluation.open.contract import Broken, memory, modes
from treesearch.problem.reference import buffers, weights

EVALUATING = "after .eval()"
INFERRING = "after .eval(), in inference mode"
DIFFERENTIATED = "with gradients enabled"
COPIED = "through copy.deepcopy()"
TRANSPOSED = "on transposed inputs"
SPACED = "on every other element of tensors"
PADDED = "on inputs with gaps in them"
MISALIGNED = "on inputs that begin at no round address"
IN_EVAL = (EVALUATING, INFERRING)


def call(manner: str, model: nn.Module, forward: Callable[..., Any], inputs: Sequence[Any]) -> Any:
    """What `forward(model, *inputs)` returns in one of these manners, but for EVALUATING and COPIED. The model is
    afterwards as it was before. Raises whatever the model raises."""
    if manner in LAYOUTS:
        return forward(model, *laid_out(inputs, manner))
    if manner == INFERRING:
        with evaluating(model), torch.inference_mode():
            return forward(model, *inputs)
    with _differentiated(model):
        return forward(model, *map(_leaf, inputs))


def laid_out(inputs: Sequence[Any], manner: str) -> list[Any]:
    """The same values otherwise in memory: in all tensors of several, or in some of them."""
    places = [place for place, value in enumerate(inputs) if isinstance(value, torch.Tensor) and value.numel() > 1]
    if manner in SOME and len(places) == 2:  # the second alone first: a module may look at how the first one lies
        places = [places[1 - SOME.index(manner) % 2]]
    elif manner in SOME and places:
        places = random.sample(places, random.randint(1, max(1, len(places) - 1)))
    return [LAYOUTS[manner](value) if place in places else value for place, value in enumerate(inputs)]


def _transposed(value: torch.Tensor) -> torch.Tensor:
    """With its dimensions in another order in memory, drawn by lot; of images' half the time in `channels_last`."""
    last = value.dim() - 1
    if last < 1:
        return value
    first = random.randrange(last)
    channels = [(1, last)] * 3 if last >= 3 else []
    one, other = random.choice([(last, 0), (first, last), (first, first + 1), *channels])
    return value.movedim(one, other).contiguous().movedim(other, one)


def _spaced(value: torch.Tensor) -> torch.Tensor:
    return torch.stack([value, torch.zeros_like(value)], dim=-1)[..., 0]


def _padded(value: torch.Tensor) -> torch.Tensor:
    """As if it were a part of something larger, along a dimension drawn by lot, the last one more often than others."""
    along = random.choice((value.dim() - 1, random.randrange(min(1, value.dim() - 1), value.dim())))
    wider = torch.cat([value, torch.zeros_like(value.narrow(along, 0, 1))], dim=along)
    return wider.narrow(along, 0, value.shape[along])


def _misaligned(value: torch.Tensor) -> torch.Tensor:
    return torch.cat([value.new_zeros(1), value.reshape(-1)])[1:].view(value.shape)


_OF_ALL: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    TRANSPOSED: _transposed,
    PADDED: _padded,
    SPACED: _spaced,
    MISALIGNED: _misaligned,
}
_OF_SOME = {f"{manner}, some of them": layout for manner, layout in _OF_ALL.items()}
SOME = (*_OF_SOME,)
LAYOUTS = {**_OF_ALL, **_OF_SOME}
ALL = (*_OF_ALL, *2 * (EVALUATING, DIFFERENTIATED, COPIED, INFERRING), *_OF_SOME)
"""Each comes twice, with other contents: what a module keeps of the first call is wrong in the second."""


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


def _leaf(value: Any) -> Any:
    differentiable = isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())
    return value.detach().requires_grad_() if differentiable else value


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """After `.eval()`, once for all calls in the block."""
    model.eval()
    try:
        yield
    finally:
        model.train()


@contextmanager
def _differentiated(model: nn.Module) -> Iterator[None]:
    model.requires_grad_(True)
    try:
        with torch.enable_grad():
            yield
    finally:
        model.requires_grad_(False)
