"""The deck: the calls that every candidate of a batch is judged on, and what each should answer."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import nn

from treesearch.errors import ProblemError
from treesearch.evaluation import checks, floor, oracle
from treesearch.evaluation.answers import Answers, compared, magnitude
from treesearch.evaluation.checks import Check, Checks
from treesearch.evaluation.stress import ALIGNED, AMBIGUOUS, STRESS, Change, align, altered, perturbed, shared_length
from treesearch.problem import memory
from treesearch.problem.reference import Reference, Value, assign, buffers, weights
from treesearch.records import Problem, Protocol, Role

Scalars = tuple[bool | int | float, ...]
"""What is passed by value, in order."""

NOMINAL = "nominal"
FLOATING = ("float", "bfloat")
"""How the dtypes begin that stress changes."""
LARGEST = 3e4
"""Stress outputs stay below this, within float16's range, unless nominal outputs already exceed it."""
SHRINK = (1.0, 0.25, 0.0625)
FEWEST_CALLS = 10
"""Calls of a deck at the least; nominal ones make up for kinds of stress that are skipped."""
SPARES = 1 << 30
"""Bytes of spares on a CPU, where drawing takes long: each serves several repeats where fewer fit than there are."""
FLOAT64_COPIES = 3
"""Copies of the inputs in float64 that a reference holds at once while it answers."""
KEPT_SHARE = 0.3
"""Share of the memory that is free for keeping contents and answers; what does not fit is made again when needed."""
BURSTS = 3
BURST_SECONDS = 2.0
"""Of computing, after which no more calls of bursts are drawn and answered."""
FEWEST_HELD = 3
"""Calls, with their answers, that must fit into memory at once."""


class Call:
    """One set of contents for the buffers, with the answers. Both are kept, or made again from the seed.

    A spare has no answers: it is a nominal draw like any other, for timing alone.
    """

    def __init__(
        self, drawer: _Drawer, stratum: str, seed: int, scale: float, *, checked: bool, model_seed: int | None = None
    ) -> None:
        self._drawer = drawer
        self.stratum = stratum
        self.seed = seed
        self.model_seed = seed if model_seed is None else model_seed
        """What parameters and buffers are drawn with."""
        self.scale = scale
        self.checked = checked
        self.scalars: Scalars = ()
        self._values: dict[str, torch.Tensor] | None = None
        self._answers: Answers | None = None

    @property
    def nominal(self) -> bool:
        return self.stratum == NOMINAL

    @property
    def values(self) -> dict[str, torch.Tensor]:
        """Contents by argument name."""
        return self._values if self._values is not None else self._drawer.contents(self).values

    @property
    def answers(self) -> Answers:
        return self._answers if self._answers is not None else self._drawer.answers(self)

    def keep(self, made: Made) -> None:
        """Keep as much as there is room for of what was made for this call."""
        self.scalars = made.scalars
        if self._drawer.room(made.values.values()):
            self._values = made.values
        if made.answers and self._drawer.room(made.answers.expected):
            self._answers = made.answers


@dataclass(frozen=True)
class Made:
    """What a call's seed gives; without answers for a spare."""

    values: dict[str, torch.Tensor]
    scalars: Scalars
    answers: Answers | None = None


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
    moved_bytes: int
    """What every correct kernel reads and writes in each nominal call, at least."""
    fixed: tuple[str, ...]
    """Arguments whose contents are the same in all calls, so that a kernel could have them built in."""
    bursts: tuple[tuple[Call, ...], ...] = ()
    """More nominal calls, for launches in a row: nothing else is made of them, so that no kernel has met one before."""


def draw(
    problem: Problem,
    reference: Reference,
    protocol: Protocol,
    seed: int,
    without: Checks = checks.NONE,
    *,
    launches: int = 0,
    one_model: bool = False,
) -> Deck:
    """The deck of a seed, on the reference's device. Weights are redrawn in every call, and perturbed in stressed
    ones.

    Bursts are of up to `launches` calls, with parameters and buffers in common where they are for `one_model`.
    `without` leaves out what its name says: without FRESH_CONTENTS all nominal calls are the first over again, without
    WEIGHTS every call has the first one's, without STRESS all calls are nominal, and without FLOOR only the outputs'
    bytes are known to matter.
    """
    _check_memory(problem, reference.device)
    with memory.reused():
        return _draw(problem, reference, protocol, seed, without, launches, one_model=one_model)


def _draw(
    problem: Problem,
    reference: Reference,
    protocol: Protocol,
    seed: int,
    without: Checks,
    launches: int,
    *,
    one_model: bool,
) -> Deck:
    seeds = _Seeds(seed, fresh=Check.FRESH_CONTENTS not in without)
    moved = problem.bytes_written if Check.FLOOR in without else floor.moved_bytes(problem, reference, seeds.first)
    _give_back(reference.device)
    drawer = _Drawer(problem, reference, weights_seed=seeds.first if Check.WEIGHTS in without else None)
    calls = [drawer.call(NOMINAL, seeds.nominal()) for _ in range(protocol.nominal_calls)]
    if any(call is None for call in calls):
        raise ProblemError(f"The reference of {problem.name} gives outputs that are not finite on its own inputs.")
    drawer.limit = max(LARGEST, 2 * drawer.largest)
    kinds = [] if Check.STRESS in without else _kinds(problem, reference)
    stressed = {name: drawer.stressed(name, seeds.stressed()) for name in kinds}
    survivors = [call for call in (*calls, *stressed.values()) if call]
    skipped = tuple(name for name, call in stressed.items() if call is None)
    while len(survivors) < FEWEST_CALLS:
        survivors += [call for call in [drawer.call(NOMINAL, seeds.nominal())] if call]
    wanted = _spares(problem, protocol, reference.device)
    spares = tuple(drawer.spare(seeds.nominal()) for _ in range(wanted))
    bursts = _bursts(drawer, seeds, launches, one_model=one_model)
    _give_back(reference.device)
    fixed = () if without else _fixed(problem, survivors)
    return Deck(tuple(survivors), spares, drawer.oracle, seed, skipped, moved, fixed, bursts)


def _bursts(drawer: _Drawer, seeds: _Seeds, launches: int, *, one_model: bool) -> tuple[tuple[Call, ...], ...]:
    """As many calls for each burst as there is time to answer, up to `launches`, and one at the least."""
    bursts: list[list[Call]] = [[] for _ in range(BURSTS)]
    end = time.thread_time() + BURST_SECONDS
    while launches and (not all(bursts) or (len(bursts[0]) < launches and time.thread_time() < end)):
        for burst in bursts:
            shared = burst[0].model_seed if one_model and burst else None
            burst += [call for call in [drawer.call(NOMINAL, seeds.nominal(), model_seed=shared)] if call]
    return tuple(tuple(burst) for burst in bursts if burst)


def _fixed(problem: Problem, calls: Sequence[Call]) -> tuple[str, ...]:
    """Names of inputs and buffers that are the same in two nominal calls and a stressed one: masks, indices, scalars,
    constants. Stress changes every floating-point input."""
    chosen = [*[call for call in calls if call.nominal][:2], *[call for call in calls if not call.nominal][:1]]
    names = [
        argument.name
        for argument in problem.signature.arguments
        if argument.role is Role.BUFFER or (argument.role is Role.INPUT and not argument.dtype.startswith(FLOATING))
    ]
    contents = [call.values for call in chosen] if names and len(chosen) > 1 else []
    same = [name for name in names if contents and all(torch.equal(contents[0][name], one[name]) for one in contents)]
    scalars = [argument.name for argument in problem.signature.of(Role.SCALAR)]
    values = zip(*(call.scalars for call in chosen), strict=True)
    return (*same, *(name for name, drawn in zip(scalars, values, strict=True) if len({*drawn}) == 1))


def sample(problem: Problem, reference: Reference, seed: int) -> Made:
    """Contents that belong to no deck, for what has to run before there is one."""
    drawer = _Drawer(problem, reference)
    return drawer.contents(Call(drawer, NOMINAL, seed ^ 1, 1.0, checked=False))


class _Seeds:
    """The calls' seeds, one after the other; nominal ones all alike unless contents are to be fresh."""

    def __init__(self, seed: int, *, fresh: bool) -> None:
        self._chance = random.Random(seed)
        self._fresh = fresh
        self.first = random.Random(seed).getrandbits(48)
        """The first nominal call's."""

    def nominal(self) -> int:
        drawn = self._chance.getrandbits(48)
        return drawn if self._fresh else self.first

    def stressed(self) -> int:
        return self._chance.getrandbits(48)


def _kinds(problem: Problem, reference: Reference) -> list[str]:
    """Kinds of stress, the problem's own ones included."""
    indices = any(not argument.dtype.startswith(FLOATING) for argument in problem.signature.of(Role.OUTPUT))
    general = [name for name in STRESS if not (indices and name in AMBIGUOUS)]
    return [*general, *(name for name in reference.stress if name not in STRESS)]


class _Drawer:
    """Makes contents and answers from seeds, and knows how much of them may be kept."""

    def __init__(self, problem: Problem, reference: Reference, weights_seed: int | None = None) -> None:
        """With `weights_seed`, parameters and buffers of every call are those that this seed gives."""
        self.problem = problem
        self.reference = reference
        self.weights_seed = weights_seed
        self.oracle = "float64"
        self.limit = float("inf")
        self.largest = 0.0
        """Largest magnitude in the answers to calls that were finite."""
        self._left = int(KEPT_SHARE * memory.available(reference.device))
        own = {name: _unary(change) for name, change in reference.stress.items()}
        self._changes: dict[str, Change] = {**own, **STRESS}

    def room(self, tensors: Iterable[torch.Tensor]) -> bool:
        """Whether these may be kept, which then counts."""
        needed = sum(tensor.nbytes for tensor in tensors)
        if needed > self._left:
            return False
        self._left -= needed
        return True

    def stressed(self, kind: str, seed: int) -> Call | None:
        """A stressed call, its inputs shrunk until the answer fits, or None where no such call exists."""
        for scale in (1.0,) if kind in self.reference.stress else SHRINK:
            if call := self.call(kind, seed, scale):
                return call
        return None

    def call(self, kind: str, seed: int, scale: float = 1.0, model_seed: int | None = None) -> Call | None:
        """One call, or None where the reference fails on it, or its answer is too large or not finite."""
        call = Call(self, kind, seed, scale, checked=True, model_seed=model_seed)
        try:
            inputs, state = self._drawn(call)
            answers, largest = self._solve(call.model_seed, inputs, state)
        except ProblemError:
            if kind == NOMINAL:
                raise
            return None
        if not largest <= self.limit or largest == float("inf"):
            return None
        self.largest = max(self.largest, largest)
        call.keep(replace(self._arrange(inputs, state), answers=answers))
        return call

    def spare(self, seed: int) -> Call:
        call = Call(self, NOMINAL, seed, 1.0, checked=False)
        call.keep(self.contents(call))
        return call

    def contents(self, call: Call) -> Made:
        """Contents by argument name, and the scalars in order."""
        return self._arrange(*self._drawn(call))

    def answers(self, call: Call) -> Answers:
        return self._solve(call.model_seed, *self._drawn(call))[0]

    def _solve(self, seed: int, inputs: list[Value], state: dict[str, torch.Tensor]) -> tuple[Answers, float]:
        """The answers, and the largest magnitude in them; infinity where one, or the reference's own, is not finite."""
        eager = self._forward(state, seed, inputs)
        expected = self._expected(state, seed, inputs, eager)
        finite = all(_largest(out) < float("inf") for out in eager)
        largest = max(map(_largest, expected)) if finite else float("inf")
        return compared(eager, expected), largest

    def _drawn(self, call: Call) -> tuple[list[Value], dict[str, torch.Tensor]]:
        """Inputs, and parameters and buffers by dotted name."""
        model = self._model(call.model_seed)
        inputs = self.reference.inputs(call.seed + 1)
        generator = torch.Generator(self.reference.device).manual_seed(call.seed + 2)
        parameters, held = weights(model), buffers(model)
        if call.stratum != NOMINAL:
            change = self._changes[call.stratum]
            if call.stratum == ALIGNED:
                tensors = [value for value in (*parameters.values(), *inputs) if isinstance(value, torch.Tensor)]
                change = align(shared_length(tensor.shape for tensor in tensors), call.seed + 2)
            inputs = [altered(value, change, call.scale, generator) for value in inputs]
            if self.weights_seed is None:
                if call.stratum == ALIGNED:
                    parameters = {name: change(tensor, generator) for name, tensor in parameters.items()}
                parameters = {name: perturbed(tensor, generator) for name, tensor in parameters.items()}
                held = {name: perturbed(tensor, generator) for name, tensor in held.items()}
        state = {**parameters, **held}
        return inputs, {name: tensor.contiguous().clone() for name, tensor in state.items()}

    def _model(self, seed: int) -> nn.Module:
        return self.reference.model(seed if self.weights_seed is None else self.weights_seed)

    def _forward(self, state: dict[str, torch.Tensor], seed: int, inputs: list[Value]) -> list[torch.Tensor]:
        # A forward may change buffers (batch norm's running statistics): it gets copies.
        model = self._model(seed)
        assign(model, {name: tensor.clone() for name, tensor in state.items()})
        return self.reference.forward(model, inputs)

    def _expected(
        self, state: dict[str, torch.Tensor], seed: int, inputs: list[Value], eager: list[torch.Tensor]
    ) -> list[torch.Tensor]:
        model = self._model(seed)
        assign(model, {name: tensor.clone() for name, tensor in state.items()})
        expected, label = oracle.answer(self.reference, model, inputs)
        if label != "float64":
            self.oracle = label
        return expected or [out.double() if out.is_floating_point() else out for out in eager]

    def _arrange(self, inputs: list[Value], state: dict[str, torch.Tensor]) -> Made:
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
        return Made(values, tuple(scalars))


def _largest(tensor: torch.Tensor) -> float:
    """Largest magnitude, infinity where there is a NaN; 0 for tensors that are not floating-point."""
    return magnitude(tensor) if tensor.is_floating_point() else 0.0


def _unary(change: Callable[[torch.Tensor], torch.Tensor]) -> Change:
    return lambda x, _: change(x)


def _spares(problem: Problem, protocol: Protocol, device: str) -> int:
    wanted = protocol.nominal_calls * (protocol.repeats - 1)
    return wanted if device != "cpu" else min(wanted, max(2, SPARES // problem.bytes_read))


def _give_back(device: str) -> None:
    """The baselines' process needs room on a GPU as well."""
    if device != "cpu":
        torch.cuda.empty_cache()


def _check_memory(problem: Problem, device: str) -> None:
    """A few calls are held at once: contents, float64 answers, the reference's answers, and what comparing takes."""
    needed = FEWEST_HELD * (problem.bytes_read + 6 * problem.bytes_written) + FLOAT64_COPIES * 2 * problem.bytes_read
    memory.require(needed, f"Judging {problem.name}", device)
