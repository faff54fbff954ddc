"""One call of a candidate: its contents, drawn from a seed, and what it should answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product

import torch
from torch import nn

from treesearch.errors import ProblemError
from treesearch.evaluation import moves, oracle, ties
from treesearch.evaluation.answers import Answers, compared, magnitude
from treesearch.evaluation.jumps import Jumps, JumpWatch, Origins, between, beyond, flipped
from treesearch.evaluation.stress import (
    ALIGNED,
    AMBIGUOUS,
    FAINT,
    GAINS,
    JOLT,
    OF_PARAMETERS,
    SIGNS,
    SMALL,
    SORTED,
    STRESS,
    STRIPED,
    Change,
    align,
    altered,
    faint,
    jolted,
    largest_floating,
    perturbed,
    regained,
    shared_length,
    turned,
)
from treesearch.problem import memory
from treesearch.problem.reference import Reference, Value, assign, buffers, weights
from treesearch.records import Problem, Role

COPIES = 4
"""In float64, of each answer that others are compared with, at once."""
Scalars = tuple[bool | int | float, ...]
"""What is passed by value, in order."""

NOMINAL = "nominal"
SHRINK = (1.0, 0.25, 0.0625)
REDRAWN = 4
"""Draws of contents among which some make answers of small sums of large terms, before such answers are put up with."""
KEPT_SHARE = 0.3
"""Share of the memory that is free for keeping contents and answers; what does not fit is made again when needed."""
MOST_EXCITABLE, MOST_MOVED = 8, 0.75
"""How many times as far as its operands an answer may move, or by what share of the tolerance, where weights are not
those that a problem starts with."""


class Call:
    """One set of contents for the buffers, with the answers. Both are kept, or made again from the seed.

    A spare has no answers: it is a nominal draw like any other, for timing alone.
    """

    def __init__(
        self, drawer: Drawer, stratum: str, seed: int, scale: float, *, checked: bool, model_seed: int | None = None
    ) -> None:
        self._drawer = drawer
        self.stratum = stratum
        self.seed = seed
        self.model_seed = seed if model_seed is None else model_seed
        """What parameters and buffers are drawn with."""
        self.scale = scale
        self.checked = checked
        self.unsaid = False
        """Whether it leaves open what of equal numbers is taken (`Answers.unsaid`)."""
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
        if made.answers and self._drawer.room(made.answers.tensors):
            self._answers = made.answers


@dataclass(frozen=True)
class Made:
    """What a call's seed gives; without answers for a spare."""

    values: dict[str, torch.Tensor]
    scalars: Scalars
    answers: Answers | None = None


class Drawer:
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
        self._picks = False
        """Whether the reference was seen to pick among numbers, or could not be looked at."""
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
        for number in range(REDRAWN if kind == STRIPED else 0):
            if call := self.call(kind, seed + number, steady=True):
                return call
        for scale in (1.0,) if kind in self.reference.stress else SHRINK:
            if call := self.call(kind, seed, scale):
                return call
        return None

    def call(
        self, kind: str, seed: int, scale: float = 1.0, model_seed: int | None = None, *, steady: bool = False
    ) -> Call | None:
        """One call, or None where the reference fails on it, or its answer is too large or not finite; or, where it is
        to be `steady`, where that does not survive that its operands are rounded."""
        call = Call(self, kind, seed, scale, checked=True, model_seed=model_seed)
        try:
            inputs, state = self._drawn(call)
            answers, largest = self._solve(call, inputs, state)
        except ProblemError:
            if kind == NOMINAL:
                raise
            return None
        if not largest <= self.limit or largest == float("inf"):
            return None
        if (steady or kind in OF_PARAMETERS) and self._excitable(call, inputs, state, answers):
            return None
        if kind in AMBIGUOUS and not self._decided(call, inputs, state, answers):
            return None
        if kind != NOMINAL and self._ties(call, inputs, state):
            unsaid = ties.unsaid(partial(self._forward, state, call.model_seed, inputs), answers.picked)
            if unsaid is None:
                return None
            call.unsaid, answers = unsaid, replace(answers, unsaid=unsaid)
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
        return self._solve(call, *self._drawn(call))[0]

    def depends_on_mode(self, call: Call) -> bool:
        """Whether the reference answers a call otherwise after `.eval()`, by more than rounding, or not at all."""
        inputs, state = self._drawn(call)
        trained = self._forward(state, call.model_seed, inputs)
        try:
            evaluated = self._forward(state, call.model_seed, inputs, training=False)
        except ProblemError:
            return True
        pairs = zip(trained, evaluated, strict=True)
        return not all(torch.allclose(one, other, rtol=JOLT, atol=JOLT, equal_nan=True) for one, other in pairs)

    def _solve(self, call: Call, inputs: list[Value], state: dict[str, torch.Tensor]) -> tuple[Answers, float]:
        """The answers, and the largest magnitude in them; infinity where one, or the reference's own, is not finite."""
        with ties.TieWatch() as own:
            eager = self._forward(state, call.model_seed, inputs)
        with ties.TieWatch() as watch, Origins() as origins:
            exact = self._exact(state, call.model_seed, inputs)
        expected = exact or _widened(eager)
        finite = all(magnitude(out) < float("inf") for out in eager)
        largest = max(map(magnitude, expected)) if finite else float("inf")
        self._picks = self._picks or bool(watch.picks) or not exact
        moved, fields = self._moved(call, inputs, state, eager, expected), list(map(origins.of, exact))
        answers = compared(eager, expected, moved, exact=bool(exact), fields=fields)
        picked = ties.picked(watch.picks, exact, own.picks, eager, nominal=call.nominal)
        jumps = cache(partial(self._jumps, call))
        answers = replace(answers, picked=picked, unsaid=call.unsaid)
        return replace(answers, jumps=lambda place: jumps()[place]), largest

    def _moved(
        self,
        call: Call,
        inputs: list[Value],
        state: dict[str, torch.Tensor],
        own: list[torch.Tensor],
        expected: list[torch.Tensor],
    ) -> dict[int, list[torch.Tensor]]:
        """What operands that are off answer, by the places of the outputs for which `compared` wants to know; nothing
        where the reference refuses them."""
        outputs = list(enumerate(self.problem.signature.of(Role.OUTPUT)))
        numbers = [place for place, output in outputs if output.holds_numbers]
        decisions = [place for place, output in outputs if not output.floating]
        moved = self._moved_by(moves.by_tolerance(self.problem.tolerance), numbers, call, inputs, state)
        rounded = not all(torch.equal(own[place], expected[place]) for place in decisions)
        ways = moves.by_rounding([*inputs, *state.values()], all_of_them=rounded)
        return moved | self._moved_by(ways, decisions, call, inputs, state)

    def _jumps(self, call: Call) -> tuple[Jumps | None, ...]:
        """Of each output what of it hangs on how float32 rounds, where the reference jumps and there is room to see."""
        inputs, state = self._drawn(call)
        with JumpWatch() as watch:
            own = self._forward(state, call.model_seed, inputs)
        with ties.TieWatch() as picks:
            exact = self._exact(state, call.model_seed, inputs)
        expected = exact or _widened(own)
        rounded = any(map(beyond, expected, own))
        rows = self._picks and not call.nominal
        ways = moves.by_rounding([*inputs, *state.values()], all_of_them=rounded) + moves.MORE * rows
        each = COPIES * sum(8 * output.numel() for output in own)
        room = memory.available(self.reference.device) // max(1, each)
        floating = [place for place, output in enumerate(own) if output.is_floating_point()]
        if not watch.found or 2 * len(ways) > room:
            floating = []
        moved = self._moved_by(ways, floating, call, inputs, state)
        otherwise = list[list[torch.Tensor]]()
        if moved and self._picks and call.nominal:
            again = partial(self._forward, state, call.model_seed, inputs)
            otherwise += ties.rounded_otherwise(again, room - 2 * len(ways))
        found = dict[int, Jumps]()
        for place, others in moved.items():
            others += [flipped(outputs[place], expected[place]) for outputs in otherwise]
            picked = rows and (not exact or picks.led_to(exact[place]))
            found[place] = between(expected[place], own[place], others, exact=bool(exact), rows=picked)
        return tuple(map(found.get, range(len(own))))

    def _moved_by(
        self,
        changes: Sequence[moves.Move],
        places: list[int],
        call: Call,
        inputs: list[Value],
        state: dict[str, torch.Tensor],
    ) -> dict[int, list[torch.Tensor]]:
        """Each time once one way and once the other: what is at an edge is then beyond it once."""
        ways = list(product(enumerate(changes if places else ()), (False, True)))
        try:
            answers = [
                self._answered(partial(change, opposite=opposite), call, inputs, state, number)
                for (number, change), opposite in ways
            ]
        except ProblemError:
            return {}
        return {place: [outputs[place] for outputs in answers] for place in places}

    def _answered(
        self, change: Change, call: Call, inputs: list[Value], state: dict[str, torch.Tensor], number: int = 0
    ) -> list[torch.Tensor]:
        """The answer where each number of the operands is changed."""
        moved, about = self._changed(change, call, inputs, state, number)
        found = about, call.model_seed, moved
        return self._exact(*found) or _widened(self._forward(*found))

    def _changed(
        self, change: Change, call: Call, inputs: list[Value], state: dict[str, torch.Tensor], number: int
    ) -> tuple[list[Value], dict[str, torch.Tensor]]:
        """Operands, each number of them changed."""
        generator = torch.Generator(self.reference.device).manual_seed(call.seed + 3 + number)
        moved = [change(value, generator) if isinstance(value, torch.Tensor) else value for value in inputs]
        return moved, {name: change(tensor, generator) for name, tensor in state.items()}

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
            changed = largest_floating(inputs) if call.stratum in (SMALL, SORTED) else range(len(inputs))
            inputs = [
                altered(value, change if index in changed else lambda x, _: x, call.scale, generator)
                for index, value in enumerate(inputs)
            ]
            if self.weights_seed is None:
                if call.stratum in (FAINT, GAINS):
                    share = faint(generator) if call.stratum == FAINT else 1.0
                    parameters = {name: regained(own, call.scale, generator, share) for name, own in parameters.items()}
                if call.stratum == ALIGNED:
                    parameters = {name: change(tensor, generator) for name, tensor in parameters.items()}
                parameters = {name: perturbed(tensor, generator) for name, tensor in parameters.items()}
                if call.stratum == SIGNS:
                    parameters = {name: turned(tensor, generator) for name, tensor in parameters.items()}
                held = {name: perturbed(tensor, generator) for name, tensor in held.items()}
        state = {**parameters, **held}
        return inputs, {name: tensor.contiguous().clone() for name, tensor in state.items()}

    def _model(self, seed: int) -> nn.Module:
        return self.reference.model(seed if self.weights_seed is None else self.weights_seed)

    def _forward(
        self, state: dict[str, torch.Tensor], seed: int, inputs: list[Value], *, training: bool = True
    ) -> list[torch.Tensor]:
        # A forward may change buffers (batch norm's running statistics): it gets copies.
        model = self._model(seed).train(training)
        assign(model, {name: tensor.clone() for name, tensor in state.items()})
        return self.reference.forward(model, inputs)

    def _exact(self, state: dict[str, torch.Tensor], seed: int, inputs: list[Value]) -> list[torch.Tensor]:
        """The float64 outputs; none where the reference cannot run in it."""
        model = self._model(seed)
        assign(model, {name: tensor.clone() for name, tensor in state.items()})
        expected, label = oracle.answer(self.reference, model, inputs)
        if label != "float64":
            self.oracle = label
        return expected

    def _excitable(self, call: Call, inputs: list[Value], state: dict[str, torch.Tensor], answers: Answers) -> bool:
        """Whether the answer depends on its operands so much that rounding them alone, as honest kernels do, makes it
        wrong: recurrent networks of random weights are that way, and rows of a product that nearly cancel."""
        moved = compared(self._answered(jolted, call, inputs, state), answers.expected).norms
        most = max(MOST_EXCITABLE * JOLT, MOST_MOVED * self.problem.tolerance)
        return any(bool((norms.own > most * norms.expected).any()) for norms in moved if norms)

    def _ties(self, call: Call, inputs: list[Value], state: dict[str, torch.Tensor]) -> bool:
        """Whether the reference picks among numbers that are equal however its operands are nudged, as where a softmax
        has left nothing of them: which of those it takes is nothing that a kernel can be held to."""
        tied = ties.met(partial(self._forward, state, call.model_seed, inputs)) if self._picks else []
        for number in (1, 2):
            if not any(bool(one.any()) for one in tied):
                return False
            try:
                nudged, about = self._changed(moves.closely, call, inputs, state, number)
                again = ties.met(partial(self._forward, about, call.model_seed, nudged))
            except ProblemError:
                return False
            tied = [one & other for one, other in zip(tied, again, strict=False) if one.shape == other.shape]
        return any(bool(one.any()) for one in tied)

    def _decided(self, call: Call, inputs: list[Value], state: dict[str, torch.Tensor], answers: Answers) -> bool:
        """Whether the reference itself says the same as the oracle wherever an answer is yes or no: what hangs on the
        last bit is nothing that a kernel can be held to."""
        if all(want.is_floating_point() for want in answers.expected):
            return True
        own = self._forward(state, call.model_seed, inputs)
        return all(
            got.is_floating_point() or torch.equal(got, want) for got, want in zip(own, answers.expected, strict=True)
        )

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


def _widened(outputs: list[torch.Tensor]) -> list[torch.Tensor]:
    return [out.double() if out.is_floating_point() else out for out in outputs]


def _unary(change: Callable[[torch.Tensor], torch.Tensor]) -> Change:
    return lambda x, _: change(x)
