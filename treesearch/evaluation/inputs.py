"""The deck: the calls that every candidate of a batch is judged on, and what each should answer."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import torch

from treesearch.errors import ProblemError
from treesearch.evaluation import oracle
from treesearch.problem import memory
from treesearch.problem.reference import Reference, Value, assign, buffers, weights
from treesearch.records import Problem, Protocol, Role

NOMINAL = "nominal"
LARGEST = 3e4
"""Stress outputs stay below this, within float16's range, unless nominal outputs already exceed it."""
SHRINK = (1.0, 0.25, 0.0625)
FEWEST_CALLS = 10
"""Calls of a deck at the least; nominal ones make up for kinds of stress that are skipped."""
SPARE_BYTES = 1 << 30
"""Memory for spares. Where a problem is so large that fewer fit than there are repeats, each serves several."""


@dataclass(frozen=True)
class Call:
    """One set of contents for the buffers, with the answers. Tensors are by argument name.

    A spare has no answers: it is a nominal draw like any other, for timing alone.
    """

    stratum: str
    values: dict[str, torch.Tensor]
    scalars: tuple[bool | int | float, ...]
    expected: tuple[torch.Tensor, ...]
    """float64, or integer outputs as they are."""
    eager: tuple[torch.Tensor, ...]
    """The reference's own answer, in its own precision."""

    @property
    def nominal(self) -> bool:
        return self.stratum == NOMINAL

    @property
    def checked(self) -> bool:
        return bool(self.expected)


@dataclass(frozen=True)
class Deck:
    """Distinct calls: several nominal draws, and one of each kind of stress that the reference survives."""

    calls: tuple[Call, ...]
    spares: tuple[Call, ...]
    """Further nominal draws, which a kernel cannot tell from those that are checked."""
    oracle: str
    seed: int
    skipped: tuple[str, ...]
    """Kinds of stress left out because the reference's answer was not finite or did not exist."""


def draw(problem: Problem, reference: Reference, protocol: Protocol, seed: int) -> Deck:
    """The deck of a seed. Weights are redrawn in every call, and perturbed in the stressed ones."""
    _check_memory(problem, protocol)
    seeds = random.Random(seed)
    drawer = _Drawer(problem, reference)
    calls = [drawer.call(NOMINAL, seeds.getrandbits(48)) for _ in range(protocol.nominal_calls)]
    if any(call is None for call in calls):
        raise ProblemError(f"The reference of {problem.name} gives outputs that are not finite on its own inputs.")
    drawer.limit = max(LARGEST, 2 * max(_largest(call.expected) for call in calls if call))
    stressed = {name: drawer.stressed(name, seeds.getrandbits(48)) for name in _kinds(problem)}
    survivors = [call for call in (*calls, *stressed.values()) if call]
    skipped = tuple(name for name, call in stressed.items() if call is None)
    while len(survivors) < FEWEST_CALLS:
        survivors += [call for call in [drawer.call(NOMINAL, seeds.getrandbits(48))] if call]
    spares = tuple(drawer.spare(seeds.getrandbits(48)) for _ in range(_spares(problem, protocol)))
    return Deck(tuple(survivors), spares, drawer.oracle, seed, skipped)


Change = Callable[[torch.Tensor, torch.Generator], torch.Tensor]


def _normal(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return torch.randn(like.shape, generator=generator)


def _spikes(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return torch.where(torch.rand(x.shape, generator=generator) < 1 / 64, 8 * x.sign(), torch.zeros(()))


STRESS: dict[str, Change] = {
    "weights": lambda x, _: x,
    "offset": lambda x, _: 8 + x / 4,
    "wide": lambda x, g: (x * torch.exp(1.5 * _normal(x, g))).clamp(-64, 64),
    "large": lambda x, _: 64 * x,
    "ties": lambda x, _: x.round().clamp(-1, 1),
    "spikes": _spikes,
    "constant": lambda x, _: torch.full_like(x, 0.5),
}
"""How each kind of stress changes a nominal floating-point input (as float32). `weights` changes only those."""

AMBIGUOUS = ("ties", "constant", "spikes")
"""Kinds that leave the position of a maximum open, and so are unfair where an output is an index."""


def _kinds(problem: Problem) -> list[str]:
    indices = any(not argument.dtype.startswith(("float", "bfloat")) for argument in problem.signature.of(Role.OUTPUT))
    return [name for name in STRESS if not (indices and name in AMBIGUOUS)]


class _Drawer:
    def __init__(self, problem: Problem, reference: Reference) -> None:
        self.problem = problem
        self.reference = reference
        self.oracle = "float64"
        self.limit = float("inf")

    def stressed(self, kind: str, seed: int) -> Call | None:
        """A stressed call, its inputs shrunk until the answer fits, or None where no such call exists."""
        for scale in SHRINK:
            call = self.call(kind, seed, scale)
            if call and _largest(call.expected) <= self.limit:
                return call
        return None

    def call(self, kind: str, seed: int, scale: float = 1.0) -> Call | None:
        """One call, or None where the reference fails on it or answers with something that is not finite."""
        model = self.reference.model(seed)
        inputs = self.reference.inputs(seed + 1)
        generator = torch.Generator().manual_seed(seed + 2)
        state = {**weights(model), **buffers(model)}
        if kind != NOMINAL:
            inputs = [_stress(value, STRESS[kind], scale, generator) for value in inputs]
            state = {name: _perturb(tensor, generator) for name, tensor in state.items()}
        state = {name: tensor.contiguous().clone() for name, tensor in state.items()}
        try:
            eager = self._forward(state, seed, inputs)
            expected = self._expected(state, seed, inputs, eager)
        except ProblemError:
            if kind == NOMINAL:
                raise
            return None
        if not all(bool(torch.isfinite(out).all()) for out in (*expected, *eager) if out.is_floating_point()):
            return None
        values, scalars = self._arrange(inputs, state)
        return Call(kind, values, scalars, tuple(expected), tuple(eager))

    def spare(self, seed: int) -> Call:
        model = self.reference.model(seed)
        values, scalars = self._arrange(self.reference.inputs(seed + 1), {**weights(model), **buffers(model)})
        return Call(NOMINAL, {name: value.contiguous() for name, value in values.items()}, scalars, (), ())

    def _forward(self, state: dict[str, torch.Tensor], seed: int, inputs: list[Value]) -> list[torch.Tensor]:
        # A forward may change buffers (batch norm's running statistics): it gets copies.
        model = self.reference.model(seed)
        assign(model, {name: tensor.clone() for name, tensor in state.items()})
        return self.reference.forward(model, inputs)

    def _expected(
        self, state: dict[str, torch.Tensor], seed: int, inputs: list[Value], eager: list[torch.Tensor]
    ) -> list[torch.Tensor]:
        model = self.reference.model(seed)
        assign(model, {name: tensor.clone() for name, tensor in state.items()})
        expected, label = oracle.answer(self.reference, model, inputs)
        if label != "float64":
            self.oracle = label
        return expected or [out.double() if out.is_floating_point() else out for out in eager]

    def _arrange(
        self, inputs: list[Value], state: dict[str, torch.Tensor]
    ) -> tuple[dict[str, torch.Tensor], tuple[bool | int | float, ...]]:
        """Contents by argument name, and the scalars in order."""
        drawn = iter(inputs)
        values: dict[str, torch.Tensor] = {}
        scalars: list[bool | int | float] = []
        for argument in self.problem.signature.arguments:
            if argument.role in (Role.PARAMETER, Role.BUFFER):
                values[argument.name] = state[argument.origin]
            elif argument.role is not Role.OUTPUT:
                value = next(drawn)
                if isinstance(value, torch.Tensor):
                    values[argument.name] = value
                else:
                    scalars.append(value)
        return values, tuple(scalars)


def _stress(value: Value, change: Change, scale: float, generator: torch.Generator) -> Value:
    """A floating-point input changed within its own domain; anything else as drawn."""
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    changed = change(value.float(), generator) * scale
    low, high = float(value.min()), float(value.max())
    if low >= 0:  # non-negative inputs, such as probabilities or lengths, stay so
        changed = changed.abs()
    if low >= 0 and high <= 1:
        changed = changed.clamp(0, 1)
    return changed.to(value.dtype)


def _perturb(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Weights that are all ones or zeros would hide a kernel that ignores them.

    Masks and constants that mean something exact (0 and 1, infinities, integers) are left alone; values that
    are never negative, such as variances, stay so.
    """
    if not tensor.is_floating_point() or not bool(torch.isfinite(tensor).all()):
        return tensor
    varied = bool((tensor != tensor.flatten()[0]).any())
    if varied and bool(((tensor == 0) | (tensor == 1)).all()):
        return tensor
    if not bool(tensor.any()):
        return (0.1 * _normal(tensor, generator)).to(tensor.dtype)
    if varied:
        return tensor
    return (tensor.float() * (0.5 + torch.rand(tensor.shape, generator=generator))).to(tensor.dtype)


def _largest(outputs: tuple[torch.Tensor, ...]) -> float:
    return max((float(out.abs().max()) for out in outputs if out.is_floating_point()), default=0.0)


def _spares(problem: Problem, protocol: Protocol) -> int:
    wanted = protocol.nominal_calls * (protocol.repeats - 1)
    return min(wanted, max(2, SPARE_BYTES // _nbytes(problem, outputs=False)))


def _check_memory(problem: Problem, protocol: Protocol) -> None:
    """A deck holds inputs, float64 answers and eager answers of every call, and the inputs of spares."""
    calls = protocol.nominal_calls + len(STRESS) + 4
    contents, answers = _nbytes(problem, outputs=False), _nbytes(problem, outputs=True)
    needed = calls * (contents + 4 * answers) + _spares(problem, protocol) * contents
    memory.require(needed, f"Judging {problem.name}")


def _nbytes(problem: Problem, *, outputs: bool) -> int:
    """Bytes of one set of outputs, or of everything else, at the problem's own precision."""
    arguments = [one for one in problem.signature.arguments if (one.role is Role.OUTPUT) is outputs]
    return sum(torch.empty(one.shape, dtype=getattr(torch, one.dtype), device="meta").nbytes for one in arguments)
