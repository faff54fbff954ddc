"""What bounds an honest kernel's time: the bytes that provably matter, and the operations that its device can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from treesearch.problem import memory
from treesearch.problem.reference import Reference, Value, assign, buffers
from treesearch.records import Device, Problem

MEMORY_SHARE = 0.4
"""Share of the free memory that tracing derivatives may allocate, all it ever allocates counted."""
FACTOR = 0.7
"""Derivatives are linear in the cotangent: this multiple of one must give this multiple of the other."""
AGREEMENT = 0.05
"""How far, relatively, the two may differ. Rounding errors that stand for an exact zero differ by as much as they
are large; derivatives in half precision that are not lost in its smallest numbers differ by a thousandth."""
HEADROOM = 1.2
"""No kernel does operations faster than this many times a GPU's best measured rate."""
CPU_CLOCK = 5e9
"""Cycles a second, as good as none of which a processor exceeds on all cores with wide vectors."""
CPU_FLOPS = 64
"""Operations a cycle of one core: two units for multiply-adds on sixteen float32 each, the most that any has."""
HALF_PRECISION = frozenset({"avx512_bf16", "avx512_fp16", "bf16", "fphp", "asimdhp"})
"""Features with which vectors hold twice as many numbers. Matrix tiles (AMX) do more, but have to be requested by a
system call, which is not for kernels."""


def moved_bytes(problem: Problem, reference: Reference, seed: int) -> int:
    """Bytes that every correct kernel moves in each call, at least.

    Every byte of the outputs, and every element of inputs, parameters and buffers with which an output's derivative
    is not zero on the nominal draw of `seed`: contents are new in each call, so a kernel cannot know such an element
    without reading it. What a mask, a triangle or a gather leaves out has derivatives of exactly zero and does not
    count, and neither do integers, nor anything where the derivatives cannot be had: the bound is then lower.
    """
    return problem.bytes_written + _read(reference, seed)


def _read(reference: Reference, seed: int) -> int:
    """Bytes of what is read that provably matter; 0 where tracing fails or takes too much memory."""
    for with_buffers in (True, False):  # a forward that updates its buffers in place cannot be traced through them
        try:
            with _Budget(int(MEMORY_SHARE * memory.available(reference.device))):
                return _mattering(reference, seed, with_buffers)
        except TooMuchMemory:
            return 0
        except Exception:  # a user's code, and torch's derivatives of it, may raise anything; the bound is then lower
            continue
    return 0


def _mattering(reference: Reference, seed: int, with_buffers: bool) -> int:
    model, inputs = reference.model(seed), reference.inputs(seed + 1)
    leaves = _leaves(model, inputs, with_buffers)
    outputs = [out for out in reference.forward(_Traced(model), inputs) if out.requires_grad]
    if not outputs:
        return 0
    generator = torch.Generator(reference.device).manual_seed(seed + 2)
    cotangents = [_normal(out, generator) for out in outputs]
    once = _derivatives(outputs, leaves, cotangents, keep=True)
    again = _derivatives(outputs, leaves, [FACTOR * one for one in cotangents], keep=False)
    return sum(_agreeing(one, other) for one, other in zip(once, again, strict=True))


def _leaves(model: nn.Module, inputs: list[Value], with_buffers: bool) -> list[torch.Tensor]:
    """Every tensor that the forward reads and that has derivatives, made to collect them."""
    state = {name: tensor.clone() for name, tensor in buffers(model).items()} if with_buffers else {}
    assign(model, state)
    given = [value for value in inputs if isinstance(value, torch.Tensor)]
    leaves = [one for one in (*given, *model.parameters(), *state.values()) if one.is_floating_point()]
    return [one.requires_grad_() for one in leaves]


class _Traced(nn.Module):
    """A model whose forward records derivatives, though whoever calls it wants none."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *inputs: Value) -> Any:
        with torch.enable_grad():
            return self.model(*inputs)


def _derivatives(
    outputs: Sequence[torch.Tensor], leaves: Sequence[torch.Tensor], cotangents: list[torch.Tensor], *, keep: bool
) -> list[torch.Tensor | None]:
    found = torch.autograd.grad(outputs, leaves, cotangents, retain_graph=keep, allow_unused=True)
    return [None if one is None else one.to_dense() for one in found]


def _normal(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return torch.randn(like.shape, generator=generator, device=like.device, dtype=like.dtype)


def _agreeing(once: torch.Tensor | None, again: torch.Tensor | None) -> int:
    """Bytes of the elements whose derivatives are finite, not zero, and proportional to the cotangent."""
    if once is None or again is None:
        return 0
    expected = FACTOR * once
    agree = (again - expected).abs() <= AGREEMENT * expected.abs()  # never where one is not finite
    return int((agree & (once != 0)).sum()) * once.element_size()


class TooMuchMemory(Exception):
    """Tracing would allocate more than its share."""


class _Budget(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Ends what runs inside once its operators have made so many bytes, whether or not they are still held.

    A process that runs out of memory is killed without a word, so that there is no error to wait for.
    """

    def __init__(self, nbytes: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._left = nbytes

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not func.is_view:
            made = result if isinstance(result, tuple | list) else (result,)
            self._left -= sum(map(_held, made))
        if self._left < 0:
            raise TooMuchMemory
        return result


def _held(made: object) -> int:
    """Bytes of a tensor; a sparse one's are those of its parts, which were made before it."""
    return made.nbytes if isinstance(made, torch.Tensor) and made.layout is torch.strided else 0


def algorithmic(problem: Problem, milliseconds: float, hardware: Device) -> bool:
    """Whether a time is shorter than the reference's operations can take on a device in any precision.

    Such a kernel does fewer of them: it knows that a matrix is diagonal, triangular or sparse. Never true where the
    operations were not counted, or a GPU's rates not measured.
    """
    most = _fastest(hardware)
    return problem.flops is not None and most is not None and problem.flops > most * milliseconds / 1e3


def _fastest(hardware: Device) -> float | None:
    """Operations a second that a device cannot exceed."""
    if hardware.kind == "cpu":
        doubled = 2 if HALF_PRECISION & set(hardware.features) else 1
        return hardware.cores * CPU_CLOCK * CPU_FLOPS * doubled
    best = max((rate.flops for rate in hardware.rates), default=None)
    return None if best is None else HEADROOM * best
