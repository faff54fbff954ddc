"""Manners in which users call a module, which is timed in one: in train mode, without gradients, on dense inputs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

EVALUATING = "after .eval()"
STRIDED = "on inputs that are not contiguous"
DIFFERENTIATED = "with gradients enabled"
COPIED = "through copy.deepcopy()"
ALL = (EVALUATING, STRIDED, DIFFERENTIATED, COPIED)


def call(manner: str, model: nn.Module, forward: Callable[..., Any], inputs: Sequence[Any]) -> Any:
    """What `forward(model, *inputs)` returns in one of these manners. The model is afterwards as it was before."""
    if manner == STRIDED:
        return forward(model, *map(strided, inputs))
    if manner == COPIED:
        return forward(copy.deepcopy(model), *inputs)
    if manner == EVALUATING:
        with _evaluating(model):
            return forward(model, *inputs)
    with _differentiated(model):
        return forward(model, *map(_leaf, inputs))


def strided(value: Any) -> Any:
    """The same values, where there are several, in another order in memory or with gaps between them."""
    if not isinstance(value, torch.Tensor) or value.numel() < 2:
        return value
    turned = value.movedim(-1, 0).contiguous().movedim(0, -1)
    if not turned.is_contiguous():
        return turned
    return torch.stack([value, torch.zeros_like(value)], dim=-1)[..., 0]


def _leaf(value: Any) -> Any:
    differentiable = isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())
    return value.detach().requires_grad_() if differentiable else value


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
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
