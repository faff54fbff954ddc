"""Wrong kernels that every sound problem rejects: what a lazy kernel would do, computed from the deck itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import prod

import torch

from treesearch.errors import ProblemError
from treesearch.evaluation import device, inputs, verify
from treesearch.evaluation.answers import Answers
from treesearch.evaluation.calls import Call, Scalars
from treesearch.evaluation.checks import Check
from treesearch.evaluation.inputs import Deck
from treesearch.problem.reference import Reference, assign, buffers, weights
from treesearch.records import Argument, Problem, Protocol, Role

Outputs = list[torch.Tensor]
Values = dict[str, torch.Tensor]

NOMINAL_CALLS = 3
PLAIN_TOLERANCE = 1e-2
"""What public harnesses give torch.allclose as rtol and atol."""


@dataclass(frozen=True)
class Verdict:
    """What became of one mutant."""

    mutant: str
    by: str
    """What rejected it: `rows`, `elements`, `values` of an integer output, `not finite`; nothing where it passed."""
    stratum: str
    """Kind of the first call that rejected it."""
    plain: bool
    """Whether torch.allclose at PLAIN_TOLERANCE on the nominal calls alone would have let it pass."""

    @property
    def rejected(self) -> bool:
        return bool(self.by)


@dataclass(frozen=True)
class Report:
    """What became of each mutant. A problem that lets one pass cannot tell right from wrong."""

    verdicts: tuple[Verdict, ...]
    oracle: str
    skipped: tuple[str, ...]
    """Kinds of stress that are left out, as in `Deck.skipped`."""
    right: tuple[str, ...] = ()
    """Mutants that are no mutants of this problem, because they do exactly what the reference does."""

    @property
    def passed(self) -> tuple[str, ...]:
        return tuple(verdict.mutant for verdict in self.verdicts if not verdict.rejected)

    @property
    def plain(self) -> tuple[str, ...]:
        """Those that a plain torch.allclose would have let pass."""
        return tuple(verdict.mutant for verdict in self.verdicts if verdict.plain)


@dataclass(frozen=True)
class Scene:
    """What a kernel finds when it is called, what it should answer, and what it may have kept from earlier calls."""

    values: Values
    scalars: Scalars
    right: Outputs
    before: Outputs | None = None
    """The previous call's right answer; None on the first call."""
    first: Scene | None = None
    """The first call; None on that call."""


@dataclass(frozen=True)
class Mutant:
    """A wrong kernel: its outputs on a call, or None where it cannot be told from a right one there."""

    name: str
    answer: Callable[[Scene], Outputs | None]
    may_be_right: bool = False
    """Whether a sound problem may be one that this does solve: symmetric, or deaf to a part of its inputs."""


@dataclass
class _Standing:
    """A mutant while it is tried on one call after the other."""

    mutant: Mutant
    by: str = ""
    stratum: str = ""
    plain: list[bool] = field(default_factory=list)
    tried: bool = False

    def open(self, call: Call) -> bool:
        return not self.by or (call.nominal and all(self.plain))

    def verdict(self) -> Verdict:
        return Verdict(self.mutant.name, self.by, self.stratum, bool(self.plain) and all(self.plain))


def check(problem: Problem, seed: int = 0) -> Report:
    """Judge every mutant on a deck of the problem; one call that rejects it is enough.

    Calls are visited in turn, each made once, so that no more than three are held at a time.
    """
    reference = Reference(problem.name, problem.source, "cuda" if device.has_gpu() else "cpu")
    protocol = Protocol(problem.tolerance, threads=device.cores(), nominal_calls=NOMINAL_CALLS, repeats=1)
    deck = inputs.draw(problem, reference, protocol, seed, frozenset({Check.FLOOR}))
    standings = [_Standing(mutant) for mutant in _mutants(problem, reference)]
    for call, answers, scene in _scenes(deck):
        for standing in standings:
            if standing.open(call) and (outputs := _answered(standing.mutant, scene)) is not None:
                _judge(problem, standing, call, answers, outputs)
    formed = [one for one in standings if one.tried]
    right = [one for one in formed if not one.by and _is_right(problem, reference, deck, one.mutant)]
    verdicts = tuple(one.verdict() for one in formed if one not in right)
    return Report(verdicts, deck.oracle, deck.skipped, tuple(one.mutant.name for one in right))


def _scenes(deck: Deck) -> Iterator[tuple[Call, Answers, Scene]]:
    first, before = None, None
    for call in deck.calls:
        answers = call.answers
        scene = Scene(call.values, call.scalars, list(answers.expected), before, first)
        yield call, answers, scene
        first, before = first or scene, scene.right


def _answered(mutant: Mutant, scene: Scene) -> Outputs | None:
    try:
        return mutant.answer(scene)
    except ProblemError:  # the reference refuses what the mutant makes of its inputs
        return None


def _judge(problem: Problem, standing: _Standing, call: Call, answers: Answers, outputs: Outputs) -> None:
    standing.tried = True
    if call.nominal and all(standing.plain):
        standing.plain.append(all(map(_close, outputs, answers.expected)))
    if not standing.by and (by := _rejected_by(problem, call.stratum, answers, outputs)):
        standing.by, standing.stratum = by, call.stratum


def _close(out: torch.Tensor, expected: torch.Tensor) -> bool:
    if not expected.is_floating_point():
        return torch.equal(out, expected)
    return torch.allclose(out.to(expected.dtype), expected, rtol=PLAIN_TOLERANCE, atol=PLAIN_TOLERANCE)


def _rejected_by(problem: Problem, stratum: str, answers: Answers, outputs: Outputs) -> str:
    if not verify.check(problem, stratum, answers, outputs).failure:
        return ""
    floats = [out for out in outputs if out.is_floating_point()]
    if not all(bool(torch.isfinite(out).all()) for out in floats):
        return "not finite"
    whole = [pair for pair in zip(outputs, answers.expected, strict=True) if not pair[1].is_floating_point()]
    if not all(torch.equal(out, expected) for out, expected in whole):
        return "values"
    # Elements are looked at in nominal calls alone.
    return "rows" if verify.check(problem, "any", answers, outputs).failure else "elements"


def _is_right(problem: Problem, reference: Reference, deck: Deck, mutant: Mutant) -> bool:
    """Whether a mutant that may be right gives, bit by bit, the reference's own answer.

    On every call of the deck, and on normal numbers as well: a problem whose inputs are never negative does not make
    a copy of them right as an answer to relu. Where the reference cannot be run on those, nothing is proven.
    """
    if not mutant.may_be_right:
        return False
    try:
        return all(_exact(mutant.answer(scene), scene.right) for scene in _own_scenes(problem, reference, deck))
    except ProblemError:
        return False


def _own_scenes(problem: Problem, reference: Reference, deck: Deck) -> Iterator[Scene]:
    """The deck's calls, and one of normal numbers, with the reference's own answers in its own precision."""
    first, before = None, None
    for values, scalars in (*((call.values, call.scalars) for call in deck.calls), _normal(deck.calls[0], deck.seed)):
        right = _run(problem, reference, values, scalars)
        scene = Scene(values, scalars, right, before, first)
        yield scene
        first, before = first or scene, right


def _normal(call: Call, seed: int) -> tuple[Values, Scalars]:
    generator = torch.Generator(next(iter(call.values.values())).device).manual_seed(seed)

    def drawn(value: torch.Tensor) -> torch.Tensor:
        if not value.is_floating_point():
            return value
        return torch.randn(value.shape, generator=generator, device=value.device, dtype=value.dtype)

    return {name: drawn(value) for name, value in call.values.items()}, call.scalars


def _exact(outputs: Outputs | None, right: Outputs) -> bool:
    return outputs is None or all(map(torch.equal, outputs, right))


def _mutants(problem: Problem, reference: Reference) -> Iterator[Mutant]:
    outputs = problem.signature.of(Role.OUTPUT)
    for index, output in enumerate(outputs):
        suffix = f" in {output.name}" if len(outputs) > 1 else ""
        for mutant in (*_of_answer(output), *_passthroughs(problem, output)):
            yield Mutant(mutant.name + suffix, _alone(index, mutant.answer), mutant.may_be_right)
    yield from _of_reference(problem, reference)


def _alone(index: int, answer: Callable[[Scene], Outputs | None]) -> Callable[[Scene], Outputs | None]:
    """Wrong in one output, and right in the others."""

    def run(scene: Scene) -> Outputs | None:
        before = scene.before[index : index + 1] if scene.before is not None else None
        first = replace(scene.first, right=scene.first.right[index : index + 1]) if scene.first else None
        wrong = answer(replace(scene, right=scene.right[index : index + 1], before=before, first=first))
        return None if wrong is None else [*scene.right[:index], *wrong, *scene.right[index + 1 :]]

    return run


def _of_answer(output: Argument) -> Iterator[Mutant]:
    """What can be made of the right answer to a call, or of earlier ones, for one output."""
    yield _made("zeros", torch.zeros_like)
    yield _made("ones", torch.ones_like)
    yield _made("negated", lambda out: ~out if out.dtype is torch.bool else -out, may_be_right=True)
    yield Mutant("the previous call's output", lambda scene: scene.before)
    yield Mutant("the first call's output", lambda scene: scene.first.right if scene.first else None)
    if prod(output.shape) > 1:  # a single number is its own mean, and all of its halves
        yield _made("the output's mean", _mean)
        yield _made("off by one element", lambda out: out.flatten().roll(1).view_as(out), may_be_right=True)
        yield _made("half of the rows, else zeros", _half_of_rows, may_be_right=True)
        yield Mutant("half of the rows, else stale", _half_stale, may_be_right=True)
    if _rows(output) > 1:
        yield _made("off by one row", lambda out: _by_row(out).roll(1, 0).view_as(out), may_be_right=True)
        yield _made("the first row everywhere", _first_row, may_be_right=True)
        if output.shape[-1] > 1:
            yield _made("each row's mean", _row_means, may_be_right=True)


def _made(name: str, change: Callable[[torch.Tensor], torch.Tensor], *, may_be_right: bool = False) -> Mutant:
    return Mutant(name, lambda scene: [change(out) for out in scene.right], may_be_right)


def _rows(output: Argument) -> int:
    return prod(output.shape[:-1]) if output.shape else 1


def _by_row(out: torch.Tensor) -> torch.Tensor:
    return out.reshape(-1, out.shape[-1])


def _mean(out: torch.Tensor) -> torch.Tensor:
    return torch.full_like(out, out.double().mean().item())


def _row_means(out: torch.Tensor) -> torch.Tensor:
    """Exactly the row where its elements are all alike."""
    start = out[..., :1].double()
    return (start + (out.double() - start).mean(-1, keepdim=True)).to(out.dtype).expand_as(out)


def _first_row(out: torch.Tensor) -> torch.Tensor:
    return _by_row(out)[:1].expand_as(_by_row(out)).reshape(out.shape)


def _half_of_rows(out: torch.Tensor) -> torch.Tensor:
    return _first_half(out, torch.zeros_like(out))


def _half_stale(scene: Scene) -> Outputs | None:
    return None if scene.before is None else list(map(_first_half, scene.right, scene.before))


def _first_half(out: torch.Tensor, rest: torch.Tensor) -> torch.Tensor:
    """The first half of one, the second of the other."""
    middle = (out.numel() + 1) // 2
    return torch.cat([out.flatten()[:middle], rest.flatten()[middle:]]).view_as(out)


def _passthroughs(problem: Problem, output: Argument) -> Iterator[Mutant]:
    for argument in problem.signature.of(Role.INPUT):
        if (argument.dtype, argument.shape) == (output.dtype, output.shape):
            yield Mutant(f"the input {argument.name}", _passthrough(argument.name), may_be_right=True)


def _passthrough(name: str) -> Callable[[Scene], Outputs]:
    return lambda scene: [scene.values[name]]


def _of_reference(problem: Problem, reference: Reference) -> Iterator[Mutant]:
    """What the reference gives when a kernel ignores, or keeps, a part of what it is given."""

    def changed(name: str, argument: Argument, change: Callable[[Scene, torch.Tensor], torch.Tensor | None]) -> Mutant:
        def run(scene: Scene) -> Outputs | None:
            value = change(scene, scene.values[argument.name])
            values = None if value is None else {**scene.values, argument.name: value}
            return None if values is None else _run(problem, reference, values, scene.scalars)

        return Mutant(name, run, may_be_right=not name.startswith("without"))

    for argument in problem.signature.of(Role.PARAMETER):
        yield changed(f"without {argument.origin}", argument, lambda scene, value: torch.zeros_like(value))
    for argument in problem.signature.of(Role.INPUT, Role.PARAMETER):
        for axis in [axis for axis, size in enumerate(argument.shape) if size > 1]:
            yield changed(f"half of {argument.origin} along {axis}", argument, _halving(axis))
        yield changed(f"{argument.origin} of the first call", argument, _keeping(argument.name))


def _halving(axis: int) -> Callable[[Scene, torch.Tensor], torch.Tensor]:
    """The second half of one dimension taken for zeros: half of the terms where that dimension is summed over."""

    def run(scene: Scene, value: torch.Tensor) -> torch.Tensor:
        halved = value.clone()
        middle = (value.shape[axis] + 1) // 2
        halved.narrow(axis, middle, value.shape[axis] - middle).zero_()
        return halved

    return run


def _keeping(name: str) -> Callable[[Scene, torch.Tensor], torch.Tensor | None]:
    return lambda scene, value: scene.first.values[name] if scene.first else None


def _run(problem: Problem, reference: Reference, values: Values, scalars: Scalars) -> Outputs:
    """The reference in its own precision, on copies of what it is given."""
    model = reference.model(0)
    names = {argument.origin: argument.name for argument in problem.signature.of(Role.PARAMETER, Role.BUFFER)}
    assign(model, {origin: values[names[origin]].clone() for origin in {**weights(model), **buffers(model)}})
    left = iter(scalars)
    arguments = problem.signature.of(Role.INPUT, Role.SCALAR)
    drawn = [next(left) if one.role is Role.SCALAR else values[one.name].clone() for one in arguments]
    return reference.forward(model, drawn)
