"""From a live reference to the arguments of `launch`, or the reason why there are none."""

from __future__ import annotations

import torch

from treesearch.errors import ProblemError
from treesearch.languages.language import identifier
from treesearch.problem import memory
from treesearch.problem.reference import Reference, Value, buffers, weights
from treesearch.records import Argument, Role, Signature

DTYPES = {
    getattr(torch, name): name
    for name in ("float16", "bfloat16", "float32", "float64", "bool", "uint8", "int8", "int16", "int32", "int64")
}
COPIES = 5
"""Sets of inputs that are held at once, beside the first, while a signature is derived."""
SCALARS: dict[type, str] = {bool: "bool", int: "int64", float: "float64"}


def derive(reference: Reference) -> Signature:
    """Arguments in order: inputs and scalars as forward takes them, parameters, buffers, outputs.

    Runs the reference a few times on two draws, and refuses forwards that change their inputs, are random, or
    have shapes that depend on data.
    """
    model, inputs = reference.model(0), reference.inputs(1)
    drawn = list(zip(reference.input_names(model, len(inputs)), inputs, strict=True))
    arguments = [_input(reference, name, value) for name, value in drawn]
    held = sum(value.nbytes for value in inputs if isinstance(value, torch.Tensor))
    memory.require(COPIES * held, f"Loading {reference.name}")
    arguments += [_tensor(reference, name, Role.PARAMETER, tensor) for name, tensor in weights(model).items()]
    arguments += [_tensor(reference, name, Role.BUFFER, tensor) for name, tensor in buffers(model).items()]
    arguments += _outputs(reference, inputs)
    return Signature(_distinct(arguments))


def precision(reference: Reference) -> str:
    """The problem's own PRECISION, or the dtype of its first floating-point input."""
    declared = getattr(reference.module, "PRECISION", None)
    if declared is not None:
        return str(declared)
    tensors = [value for value in reference.inputs(1) if isinstance(value, torch.Tensor)]
    floating = [tensor for tensor in tensors if tensor.is_floating_point()]
    return DTYPES[floating[0].dtype] if floating else "float32"


def _outputs(reference: Reference, inputs: list[Value]) -> list[Argument]:
    """The outputs of a well-behaved forward."""
    name = reference.name
    outputs = reference.forward(reference.model(0), _copies(inputs), seed=0)
    names = ["out"] if len(outputs) == 1 else [f"out{index}" for index in range(len(outputs))]
    arguments = [_tensor(reference, each, Role.OUTPUT, out) for each, out in zip(names, outputs, strict=True)]
    touched = _copies(inputs)
    again = reference.forward(reference.model(0), touched, seed=1)
    if not all(map(_same, inputs, touched)):
        raise ProblemError(f"forward of {name} changes its inputs in place; a kernel's inputs are read-only.")
    if not all(map(_alike, outputs, again)):
        raise ProblemError(f"forward of {name} is random: the same inputs gave different outputs.")
    other = reference.inputs(2)
    if [_form(value) for value in other] != [_form(value) for value in inputs]:
        raise ProblemError(f"get_inputs() of {name} gives other shapes or types on a second call.")
    varied = reference.forward(reference.model(0), _copies(other))
    if [_form(out) for out in varied] != [_form(out) for out in outputs]:
        raise ProblemError(f"forward of {name} has output shapes that depend on data.")
    return arguments


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
    if tensor.layout is not torch.strided or tensor.is_quantized:
        raise ProblemError(f"{what} is sparse or quantized; only dense tensors can be expressed.")
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
