"""Manners in which users call a module, which is timed in one: in train mode, without gradients, on dense inputs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from treesearch.evaluation.open.contract import Broken, memory
from treesearch.problem.reference import buffers, weights

EVALUATING = "after .eval()"
INFERRING = "in inference mode"
DIFFERENTIATED = "with gradients enabled"
COPIED = "through copy.deepcopy()"
TRANSPOSED = "on transposed inputs"
SPACED = "on every other element of a tensor"
PADDED = "on rows with gaps between them"
MISALIGNED = "on inputs that begin at no round address"


def call(manner: str, model: nn.Module, forward: Callable[..., Any], inputs: Sequence[Any]) -> Any:
    """What `forward(model, *inputs)` returns in one of these manners, but for EVALUATING and COPIED. The model is
    afterwards as it was before. Raises whatever the model raises."""
    if manner in LAYOUTS:
        return forward(model, *(laid_out(value, LAYOUTS[manner]) for value in inputs))
    if manner == INFERRING:
        with torch.inference_mode():
            return forward(model, *inputs)
    with _differentiated(model):
        return forward(model, *map(_leaf, inputs))


def laid_out(value: Any, layout: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """The same values, where there are several, otherwise in memory."""
    return layout(value) if isinstance(value, torch.Tensor) and value.numel() > 1 else value


def _transposed(value: torch.Tensor) -> torch.Tensor:
    return value.movedim(-1, 0).contiguous().movedim(0, -1)


def _spaced(value: torch.Tensor) -> torch.Tensor:
    return torch.stack([value, torch.zeros_like(value)], dim=-1)[..., 0]


def _padded(value: torch.Tensor) -> torch.Tensor:
    return torch.cat([value, torch.zeros_like(value[..., :1])], dim=-1)[..., :-1]


def _misaligned(value: torch.Tensor) -> torch.Tensor:
    return torch.cat([value.new_zeros(1), value.reshape(-1)])[1:].view(value.shape)


LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    TRANSPOSED: _transposed,
    SPACED: _spaced,
    PADDED: _padded,
    MISALIGNED: _misaligned,
}
ALL = 2 * (EVALUATING, DIFFERENTIATED, TRANSPOSED, COPIED, PADDED, MISALIGNED, SPACED, INFERRING)
"""Each comes twice, with other contents: what a module keeps of the first call is wrong in the second."""


def copied(model: nn.Module) -> nn.Module:
    """A deep copy. Raises Broken where it is none."""
    found = copy.deepcopy(model)
    own = {memory(tensor) for tensor in _tensors(model)}
    if found is model or any(memory(tensor) in own for tensor in _tensors(found)):
        raise Broken("copy.deepcopy() of the model has memory in common with it")
    return found


def update(copied: nn.Module, model: nn.Module) -> None:
    """Give a copy the contents that the model has got since."""
    for own, wanted in ((weights(copied), weights(model)), (buffers(copied), buffers(model))):
        for name, tensor in wanted.items():
            own[name].copy_(tensor)


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
