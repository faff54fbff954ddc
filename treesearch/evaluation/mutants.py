"""Wrong kernels that every sound problem rejects: what a lazy kernel would do, computed from the deck itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from treesearch.evaluation import device, inputs, verify
from treesearch.evaluation.inputs import Call
from treesearch.problem.reference import Reference, assign, buffers, weights
from treesearch.records import Problem, Protocol, Role

Outputs = list[torch.Tensor]


@dataclass(frozen=True)
class Verdict:
    mutant: str
    rejected: bool


@dataclass(frozen=True)
class Report:
    """What became of each mutant. A problem that lets one pass cannot tell right from wrong."""

    verdicts: tuple[Verdict, ...]
    oracle: str
    skipped: tuple[str, ...]


def check(problem: Problem, seed: int = 0) -> Report:
    """Judge every mutant on a deck of the problem; one call that rejects it is enough."""
    reference = Reference(problem.name, problem.source, "cuda" if device.has_gpu() else "cpu")
    deck = inputs.draw(problem, reference, Protocol(problem.tolerance, threads=device.cores()), seed)
    verdicts = []
    for name, mutate in _mutants(problem, reference):
        calls = zip(deck.calls, deck.calls[-1:] + deck.calls[:-1], strict=True)
        rejected = any(_rejects(problem, call, mutate(call, before)) for call, before in calls)
        verdicts.append(Verdict(name, rejected))
    return Report(tuple(verdicts), deck.oracle, deck.skipped)


def _rejects(problem: Problem, call: Call, outputs: Outputs) -> bool:
    return bool(verify.check(problem, call.stratum, call.answers, outputs).failure)


def _mutants(problem: Problem, reference: Reference) -> Iterator[tuple[str, Callable[[Call, Call], Outputs]]]:
    """Name, and the outputs that it gives on a call, given also the call before it."""
    yield "zeros", lambda call, before: [torch.zeros_like(out) for out in call.answers.expected]
    if any(math.prod(argument.shape) > 1 for argument in problem.signature.of(Role.OUTPUT)):  # else it is the output
        yield "the output's mean", lambda call, before: [_mean(out) for out in call.answers.expected]
    yield "the previous call's output", lambda call, before: list(before.answers.expected)
    outputs = problem.signature.of(Role.OUTPUT)
    for argument in problem.signature.of(Role.INPUT):
        if all((argument.dtype, argument.shape) == (out.dtype, out.shape) for out in outputs):
            yield f"the input {argument.name}", _passthrough(argument.name, len(outputs))
    for argument in problem.signature.of(Role.PARAMETER):
        yield f"without {argument.origin}", _without(problem, reference, argument.name)


def _mean(out: torch.Tensor) -> torch.Tensor:
    return torch.full_like(out, out.double().mean().item())


def _passthrough(name: str, count: int) -> Callable[[Call, Call], Outputs]:
    return lambda call, before: [call.values[name]] * count


def _without(problem: Problem, reference: Reference, name: str) -> Callable[[Call, Call], Outputs]:
    """The reference with one parameter zeroed."""

    def run(call: Call, before: Call) -> Outputs:
        model = reference.model(0)
        origins = {argument.origin: argument.name for argument in problem.signature.of(Role.PARAMETER, Role.BUFFER)}
        state = {**weights(model), **buffers(model)}
        values = {origin: call.values[origins[origin]].clone() for origin in state}
        assign(model, {origin: torch.zeros_like(v) if origins[origin] == name else v for origin, v in values.items()})
        scalars = iter(call.scalars)
        arguments = problem.signature.of(Role.INPUT, Role.SCALAR)
        drawn = [next(scalars) if one.role is Role.SCALAR else call.values[one.name].clone() for one in arguments]
        return reference.forward(model, drawn)

    return run
