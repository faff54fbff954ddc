"""Inputs that a call is given as its caller's only copy of them, so that counting who holds them tells nothing."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from treesearch.evaluation.open.contract import Broken, equal, form

LOT = random.SystemRandom()
"""Nothing that a module does to `random` tells what comes."""
MOST_HOLDERS = 3


class Loan:
    """The inputs of one call, as tensors that have nothing but memory in common with their owner's.

    By lot nobody holds them but the call, as what an expression gives, or up to three do.
    """

    def __init__(self, inputs: Sequence[Any], origin: Callable[[Any], Any] = lambda value: value) -> None:
        """`origin` makes what is given of what is to be given."""
        self._owned = inputs
        with torch.inference_mode(False):  # whatever the call is made in, they come from elsewhere
            self._before = [value.clone() if isinstance(value, torch.Tensor) else value for value in inputs]
            self._given = [origin(unheld(value) if isinstance(value, torch.Tensor) else value) for value in inputs]
        self._forms = [form(value) for value in self._given if isinstance(value, torch.Tensor)]
        self._holders = [tuple(self._given) for _ in range(LOT.randint(0, MOST_HOLDERS))]

    def given(self) -> Iterator[Any]:
        """Each of them once, and none is kept but by holders."""
        while self._given:
            yield self._given.pop(0)

    def refuse_changes(self) -> None:
        """Raises Broken where the call has changed one, or what is in its memory."""
        held = [value for value in (self._holders or [()])[0] if isinstance(value, torch.Tensor)]
        if any(form(value) != before for value, before in zip(held, self._forms, strict=False)):
            raise Broken("a call changes an input: its memory, form, requires_grad or grad")
        refuse_changed(self._owned, self._before)


def refuse_changed(inputs: Sequence[Any], before: Sequence[Any]) -> None:
    """Raises Broken where a call has written to memory of its inputs."""
    pairs = zip(inputs, before, strict=True)
    if not all(equal(value, other) for value, other in pairs if isinstance(value, torch.Tensor)):
        raise Broken("a call writes to its inputs")


def unheld(value: torch.Tensor) -> torch.Tensor:
    """A tensor of the same form and memory, whose object and storage nobody else knows, and which is no view."""
    storage = value.untyped_storage()
    if not storage.nbytes():
        return torch.empty_like(value)
    memory = _over(value, storage.data_ptr(), storage.nbytes()).untyped_storage()
    empty = torch.empty(0, dtype=value.dtype, device=value.device)
    return empty.set_(memory, value.storage_offset(), value.shape, value.stride())


def _over(owner: torch.Tensor, address: int, length: int) -> torch.Tensor:
    """Bytes of a tensor's memory, which stays as long as they are there."""
    if owner.is_cuda:
        from treesearch.evaluation.cuda.buffers import over

        return over(address, length, owner)
    held = (ctypes.c_uint8 * length).from_address(address)
    held.owner = owner  # type: ignore[attr-defined]
    return torch.frombuffer(held, dtype=torch.uint8)
