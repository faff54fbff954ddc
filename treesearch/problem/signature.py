"""From a live reference to the arguments of `launch`, or the reason why there are none."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from treesearch.errors import ProblemError
from treesearch.languages.language import identifier
from treesearch.problem import extras, memory
from treesearch.problem.reference import Reference, Value, buffers, weights
from treesearch.problem.rehearsal import Rehearsal, rehearse
from treesearch.records import Argument, Role, Signature

DTYPES = {
    getattr(torch, name): name
    for name in ("float16", "bfloat16", "float32", "float64", "bool", "uint8", "int8", "int16", "int32", "int64")
}
COPIES = 5
"""Sets of inputs that are held at once, beside the first, while a signature is derived."""
SCALARS: dict[type, str] = {bool: "bool", int: "int64", float: "float64"}


@dataclass(frozen=True)
class Derived:
    """What a reference says about itself when it is run."""

    signature: Signature
    precision: str
    """The problem's own PRECISION, or the dtype of its first floating-point input."""
    flops: int | None
    """Operations of one call, a multiply-add counted as two; None where none could be counted."""


def derive(reference: Reference) -> Derived:
    """Arguments in order: inputs and scalars as forward takes them, parameters, buffers, outputs.

    Refuses forwards that change their inputs, keep something for the next call, are random, or have shapes that depend
    on data. A small problem is run a few times on two draws; of one that would take seconds or gigabytes, torch's meta
    device tells as much.
    """
    rehearsal = rehearse(reference)
    if rehearsal and rehearsal.keeps:
        raise ProblemError(
            f"forward of {reference.name} leaves {rehearsal.keeps} for its next call, neither a parameter nor a "
            "buffer: its answers depend on calls before, of which a kernel knows nothing."
        )
    arguments = _rehearsed(rehearsal) if rehearsal and rehearsal.large else _tried(reference)
    signature = Signature(_distinct(arguments))
    flops = rehearsal.operations or None if rehearsal else None
    return Derived(signature, _precision(reference, signature), flops)


def _precision(reference: Reference, signature: Signature) -> str:
    declared = getattr(reference.module, "PRECISION", None)
    if declared is not None:
        return str(declared)
    return next((argument.dtype for argument in signature.of(Role.INPUT) if "float" in argument.dtype), "float32")


def _tried(reference: Reference) -> list[Argument]:
    """Arguments by running the reference on data."""
    model, inputs = reference.model(0), reference.inputs(1)
    arguments = _given(reference, model, inputs)
    held = sum(value.nbytes for value in inputs if isinstance(value, torch.Tensor))
    memory.require(COPIES * held, f"Loading {reference.name}", reference.device)
    outputs = reference.forward(reference.model(0), _copies(inputs), seed=0)
    arguments += _outputs(reference, outputs)
    _check_behaviour(reference, inputs, outputs)
    extras.check(reference, _copies(inputs), outputs)
    return arguments


def _check_behaviour(reference: Reference, inputs: list[Value], outputs: list[torch.Tensor]) -> None:
    touched = _copies(inputs)
    again = reference.forward(reference.model(0), touched, seed=1)
    if not all(map(_same, inputs, touched)):
        raise _changes_inputs(reference.name)
    if not all(map(_alike, outputs, again)):
        raise ProblemError(f"forward of {reference.name} is random: the same inputs gave different outputs.")
    other = _second_draw(reference, inputs)
    varied = reference.forward(reference.model(0), _copies(other))
    if [_form(out) for out in varied] != [_form(out) for out in outputs]:
        raise ProblemError(f"forward of {reference.name} has output shapes that depend on data.")


def _rehearsed(rehearsal: Rehearsal) -> list[Argument]:
    """Arguments from what a run without data showed."""
    reference, inputs, outputs = rehearsal.reference, rehearsal.inputs, rehearsal.outputs
    arguments = _given(reference, rehearsal.model, inputs) + _outputs(reference, outputs)
    if rehearsal.changes_inputs:
        raise _changes_inputs(reference.name)
    if rehearsal.random:
        raise ProblemError(f"forward of {reference.name} is random: it draws numbers with {rehearsal.random}.")
    _second_draw(reference, inputs)
    extras.check(reference, inputs, outputs)
    return arguments


def _changes_inputs(name: str) -> ProblemError:
    return ProblemError(f"forward of {name} changes its inputs in place; a kernel's inputs are read-only.")


def _second_draw(reference: Reference, inputs: list[Value]) -> list[Value]:
    other = reference.inputs(2)
    if [_form(value) for value in other] != [_form(value) for value in inputs]:
        raise ProblemError(f"get_inputs() of {reference.name} gives other shapes or types on a second call.")
    return other


def _given(reference: Reference, model: nn.Module, inputs: list[Value]) -> list[Argument]:
    """All that a forward reads."""
    names = reference.input_names(model, len(inputs))
    return [
        *(_input(reference, name, value) for name, value in zip(names, inputs, strict=True)),
        *(_tensor(reference, name, Role.PARAMETER, tensor) for name, tensor in weights(model).items()),
        *(_tensor(reference, name, Role.BUFFER, tensor) for name, tensor in buffers(model).items()),
    ]


def _outputs(reference: Reference, outputs: list[torch.Tensor]) -> list[Argument]:
    names = ["out"] if len(outputs) == 1 else [f"out{index}" for index in range(len(outputs))]
    return [_tensor(reference, name, Role.OUTPUT, out) for name, out in zip(names, outputs, strict=True)]


def _input(reference: Reference, name: str, value: object) -> Argument:
    if isinstance(value, torch.Tensor):
        return _tensor(reference, name, Role.INPUT, value)
    if type(value) in SCALARS:
        return Argument(identifier(name), Role.SCALAR, SCALARS[type(value)], (), name)
    kind = type(value).__name__
    raise ProblemError(
        f"Input {name!r} of {reference.name} is a {kind}; only tensors, bool, int and float are possible."
    )


def _tensor(reference: Reference, name: str, role: Role, tensor: torch.Tensor) -> Argument:
    what = f"The {role} {name!r} of {reference.name}"
    if tensor.is_nested or tensor.layout is not torch.strided or tensor.is_quantized:
        raise ProblemError(f"{what} is sparse, nested or quantized; only dense tensors can be expressed.")
    if tensor.dtype not in DTYPES:
        raise ProblemError(f"{what} has dtype {tensor.dtype}; possible are {', '.join(DTYPES.values())}.")
    if tensor.numel() == 0:
        raise ProblemError(f"{what} is empty: its shape is {tuple(tensor.shape)}.")
    return Argument(identifier(name), role, DTYPES[tensor.dtype], tuple(tensor.shape), name)


def _distinct(arguments: list[Argument]) -> tuple[Argument, ...]:
    """Number those names that two arguments, or their constants, would share."""
    taken: set[str] = set()
    distinct: list[Argument] = []
    for argument in arguments:
        name, number = argument.name, 2
        while taken & (claimed := _claimed(name, argument)):
            name, number = f"{argument.name}_{number}", number + 1
        taken |= claimed
        distinct.append(Argument(name, argument.role, argument.dtype, argument.shape, argument.origin))
    return tuple(distinct)


def _claimed(name: str, argument: Argument) -> set[str]:
    """What problem.h declares for an argument of that name."""
    return {name, f"{name}_numel", *(f"{name}_dim{axis}" for axis in range(len(argument.shape)))}


def _copies(inputs: list[Value]) -> list[Value]:
    return [value.clone() if isinstance(value, torch.Tensor) else value for value in inputs]


def _form(value: Value) -> object:
    return (value.shape, value.dtype) if isinstance(value, torch.Tensor) else type(value)


def _same(left: Value, right: Value) -> bool:
    if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
        return torch.equal(left.nan_to_num(), right.nan_to_num())
    return bool(left == right)


def _alike(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Equal up to the order in which threads may have summed."""
    return torch.allclose(left.double(), right.double(), rtol=1e-3, atol=1e-5, equal_nan=True)
