"""What a module's callers rely on beside the answers: whose memory these are in, and what a call leaves as it was."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import accumulate, combinations
from typing import Any, Self

import torch
from torch import nn

from treesearch.problem.reference import Reference, buffers, weights

PAGE = 4096
"""Bytes of memory that have one address together, at the least."""


class Broken(Exception):
    """The candidate broke the contract; the text says how."""


@dataclass(frozen=True)
class Answers:
    """What can be said of a forward's answers without looking at a number in them."""

    single: bool
    """A tensor, and no tuple or list of them."""
    given: list[int] = field(default_factory=list)
    """Places of those in memory of an input, a parameter or a buffer."""
    spread: list[int] = field(default_factory=list)
    """Places of those whose elements share memory with one another, as expanded ones do, and overlapping windows."""
    meeting: list[list[int]] = field(default_factory=list)
    """Pairs of those that may have elements in common."""

    @classmethod
    def of(cls, returned: object, given: Sequence[object]) -> Self:
        """Of what a forward returned, which was `given` these."""
        tensors = [(place, one) for place, one in enumerate(listed(returned)) if isinstance(one, torch.Tensor)]
        places = {memory(value) for value in given if isinstance(value, torch.Tensor) and value.numel()}
        return cls(
            single=not isinstance(returned, tuple | list),
            given=[place for place, one in tensors if one.numel() and memory(one) in places],
            spread=[place for place, one in tensors if _spread(one)],
            meeting=[[one, two] for (one, first), (two, second) in combinations(tensors, 2) if _meet(first, second)],
        )

    def encoded(self) -> dict[str, Any]:
        return asdict(self)


def of_reference(reference: Reference) -> dict[str, Any] | None:
    """What the reference's answers are like, encoded; None where that takes real data to say."""
    try:
        shapes = reference.on("meta")
        model, inputs = shapes.model(0), shapes.inputs(0)
        with torch.no_grad():
            returned = model(*inputs)
    except Exception:  # a reference may do whatever it likes, and much of it needs data
        return None
    return Answers.of(returned, [*inputs, *weights(model).values(), *buffers(model).values()]).encoded()


def refuse(returned: object, given: Sequence[object], wanted: Mapping[str, Any] | None) -> None:
    """Raises Broken where answers are in memory that the reference's are not in, or are several instead of one.

    Nobody needs them any more: of two whose elements may be the same, one is overwritten.
    """
    if returned is None or wanted is None:
        return
    allowed, found = Answers(**wanted), Answers.of(returned, given)
    if allowed.single and not found.single:
        raise Broken(f"forward returns a {type(returned).__name__}, and the reference a tensor")
    for place in found.given:
        if place not in allowed.given:
            raise Broken(f"output {place} is in memory of an input, a parameter or a buffer; the reference's is not")
    for place in found.spread:
        if place not in allowed.spread:
            raise Broken(f"elements of output {place} share memory, and the reference's do not")
    outputs = listed(returned)
    for one, two in found.meeting:
        if [one, two] not in allowed.meeting and _common(outputs[one], outputs[two]):
            raise Broken(f"outputs {one} and {two} have memory in common, and the reference's have not")
    known = {*allowed.given, *allowed.spread, *(place for pair in allowed.meeting for place in pair)}
    rest = [one for place, one in enumerate(outputs) if place not in known and isinstance(one, torch.Tensor)]
    if not _apart(rest):
        raise Broken("pages of the outputs are one piece of memory under several addresses")


class Belongings:
    """The caller's tensors as a call has to leave them: the objects, beside what is in their memory."""

    def __init__(self, model: nn.Module, sets: Sequence[Sequence[object]]) -> None:
        """`sets` of inputs."""
        self._model = model
        self._parameters = list(model.named_parameters())
        self._inputs = [
            (f"input {place}", value)
            for inputs in sets
            for place, value in enumerate(inputs)
            if isinstance(value, torch.Tensor)
        ]
        self._before = list(self._forms())

    def refuse_changes(self) -> None:
        """Raises Broken where a tensor is not what it was, or a parameter is another one: what its caller has made of
        the parameters, such as an optimizer, would know nothing of that."""
        if list(map(id, self._model.parameters())) != [id(parameter) for _, parameter in self._parameters]:
            raise Broken("a call puts another parameter into the place of one, or adds or drops one")
        for (name, form), (_, before) in zip(self._forms(), self._before, strict=True):
            if form != before:
                raise Broken(f"a call changes {name}: its memory, form, requires_grad or grad")

    def _forms(self) -> Iterator[tuple[str, tuple[object, ...]]]:
        return ((name, form(tensor)) for name, tensor in (*self._inputs, *self._parameters))


def form(tensor: torch.Tensor) -> tuple[object, ...]:
    """What a tensor is, beside what is in its memory."""
    lies = tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype
    return (*lies, tensor.is_neg(), tensor.requires_grad, tensor.is_leaf and tensor.grad is None)


def modes(model: nn.Module) -> tuple[object, ...]:
    """What a forward finds, and has to leave: of torch, and of the model and its parts."""
    wants_gradients = [parameter.requires_grad for parameter in model.parameters()]
    training = [part.training for part in model.modules()]
    gradients = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
    defaults = torch.get_default_dtype(), torch.get_default_device()
    cast = [(torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)) for kind in ("cpu", "cuda")]
    return (*gradients, *defaults, *cast, torch.is_autocast_cache_enabled(), training, wants_gradients)


def listed(returned: object) -> list[Any]:
    """What a forward returned, as a list."""
    return list(returned) if isinstance(returned, tuple | list) else [returned]


def memory(value: object) -> int:
    """Where a tensor's memory begins; on `meta`, where there is none, which of the memories there would be; 0 for what
    is no tensor."""
    if not isinstance(value, torch.Tensor):
        return 0
    storage = value.untyped_storage()
    return int(storage._cdata if value.is_meta else storage.data_ptr())


def _spread(tensor: torch.Tensor) -> bool:
    """Whether a dimension's steps do not lead beyond all that smaller ones reach, so that elements may be the same."""
    reached = 0
    for step, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1 and step <= reached:
            return True
        reached += (size - 1) * step
    return False


def _meet(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether the bytes from one's first to its last element overlap with the other's."""
    if not (one.numel() and other.numel()) or memory(one) != memory(other):
        return False
    (first, last), (begin, end) = _extent(one), _extent(other)
    return first <= end and begin <= last


def _extent(tensor: torch.Tensor) -> tuple[int, int]:
    """First and last byte within its memory."""
    steps = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
    first = int(tensor.storage_offset()) * tensor.element_size()
    return first, first + int(steps + 1) * tensor.element_size() - 1


def _common(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether writing to one changes the other."""
    with torch.inference_mode():
        before = _bits(other.detach()).clone()
        written = one.detach()
        written.fill_(math.nan) if one.is_floating_point() or one.is_complex() else written.bitwise_not_()
        return not torch.equal(before, _bits(other.detach()))


def alike(one: object, other: object) -> bool:
    """Whether both are tensors of one shape and dtype."""
    if not (isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor)):
        return False
    return one.shape == other.shape and one.dtype == other.dtype


def equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Bit by bit."""
    with torch.inference_mode():
        return torch.equal(_bits(one.detach()), _bits(other.detach()))


def _apart(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether what is written to an element of each page is there once all are written: each in turn gets the bits of
    its number. Addresses do not tell, since memory may be mapped more than once."""
    marks = [(one.detach(), torch.arange(0, one.numel(), max(1, PAGE // one.element_size()))) for one in tensors]
    ends = list(accumulate((len(places) for _, places in marks), initial=0))
    numbered = [
        (one, torch.unravel_index(places.to(one.device), one.shape), torch.arange(begin, end, device=one.device))
        for (one, places), begin, end in zip(marks, ends, ends[1:], strict=False)
        if one.dim()
    ]
    with torch.inference_mode():
        for bit in range(ends[-1].bit_length()):
            for one, places, numbers in numbered:
                one[places] = (numbers >> bit & 1).to(one.dtype)
            if not all(
                torch.equal(one[places], (numbers >> bit & 1).to(one.dtype)) for one, places, numbers in numbered
            ):
                return False
    return True


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().reshape(-1).view(torch.uint8)
