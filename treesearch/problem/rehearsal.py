"""A problem run without its data, on torch's meta device: shapes, operations, and what may not be, in milliseconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from treesearch.errors import ProblemError
from treesearch.problem.reference import Reference, Value, buffers, weights

LARGE_BYTES = 128 << 20
LARGE_FLOPS = 5 * 10**9
Version = tuple[torch.Tensor, int]
"""A tensor, and how often it was changed in place."""
"""From either on, a problem's forward is not tried on real data when it is loaded: that would take seconds."""


@dataclass(frozen=True)
class Rehearsal:
    """What one forward on the meta device showed. Its tensors have shapes and dtypes, and no data."""

    reference: Reference
    """On the meta device."""
    model: nn.Module
    inputs: list[Value]
    outputs: list[torch.Tensor]
    operations: int
    """A multiply-add counted as two; 0 where no operator of the forward has a formula."""
    changes_inputs: bool
    random: str
    """The operator that draws random numbers, or nothing."""
    keeps: str
    """The attribute that forward leaves for the next call, beside parameters and buffers, or nothing."""

    @property
    def large(self) -> bool:
        tensors = [*_tensors(self.inputs), *_state(self.model), *self.outputs]
        return self.operations > LARGE_FLOPS or _nbytes(tensors) > LARGE_BYTES


def rehearse(reference: Reference) -> Rehearsal | None:
    """One forward without data; None where the reference does not run so, or does not run at all.

    Raises ProblemError for a large problem with shapes that depend on data: these have no such run, and are not
    to be tried in earnest either.
    """
    reference, watch = reference.on("meta"), _Watch()
    try:
        model, inputs = reference.model(0), reference.inputs(1)
    except ProblemError:
        return None
    before, held = [tensor._version for tensor in _tensors(inputs)], _attributes(model)
    try:
        with watch:
            outputs = reference.forward(model, inputs)
    except ProblemError:
        if watch.dynamic and _nbytes([*_tensors(inputs), *_state(model)]) > LARGE_BYTES:
            raise ProblemError(
                f"forward of {reference.name} has shapes that depend on data ({watch.dynamic}), "
                "which cannot be tried at this size."
            ) from None
        return None
    changed = before != [tensor._version for tensor in _tensors(inputs)]
    # What was not there before is what a forward works out once, such as a mask.
    left = _attributes(model)
    keeps = next((name for name, was in held.items() if not _is_still(was, left.get(name))), "")
    return Rehearsal(reference, model, inputs, outputs, watch.operations, changed, watch.random, keeps)


def _is_still(was: Version, found: Version | None) -> bool:
    return found is not None and found[0] is was[0] and found[1] == was[1]


def _attributes(model: nn.Module) -> dict[str, Version]:
    """Tensors that are attributes of a model or its parts, neither parameters nor buffers, and their versions."""
    return {
        f"{path}.{name}".removeprefix("."): (value, value._version)
        for path, part in model.named_modules()
        for name, value in vars(part).items()
        if isinstance(value, torch.Tensor)
    }


class _Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts operations by torch's own formulas, and notices operators that no kernel's reference may use."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations = 0
        self.random = ""
        self.dynamic = ""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here; asking for it to be skipped would import the compiler, most of a second."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if torch.Tag.nondeterministic_seeded in func.tags and not _never_drops(func, args, kwargs):
            self.random = str(func)
        try:
            result = func(*args, **kwargs)
        except Exception:  # what an operator without a shape raises differs; it goes on to be reported
            # Not before it fails: indexing bears this tag even where its indices leave no doubt about the shape.
            self.dynamic = str(func) if torch.Tag.dynamic_output_shape in func.tags else ""
            raise
        self.operations += _operations(func._overloadpacket, result, args, kwargs)
        return result


def _never_drops(func: Any, args: Any, kwargs: Any) -> bool:
    """Fused attention counts as random even where its probability of dropout is zero."""
    names = [argument.name for argument in func._schema.arguments]
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    return "dropout_p" in names and given.get("dropout_p", 0.0) == 0.0


def _operations(operator: Any, result: Any, args: Any, kwargs: Any) -> int:
    if operator in flop_registry:
        return int(flop_registry[operator](*args, **kwargs, out_val=result))
    matrix = _MATRIX.get(operator)
    return 2 * matrix(args).numel() if matrix else 0


_MATRIX: dict[Any, Callable[[Any], torch.Tensor]] = {
    torch.ops.aten.mv: lambda args: args[0],
    torch.ops.aten.addmv: lambda args: args[1],
    torch.ops.aten.dot: lambda args: args[0],
}
"""Products with a vector, which torch has no formulas for: the argument whose every element is multiplied once."""


def _tensors(values: list[Value]) -> list[torch.Tensor]:
    return [value for value in values if isinstance(value, torch.Tensor)]


def _state(model: nn.Module) -> list[torch.Tensor]:
    return [*weights(model).values(), *buffers(model).values()]


def _nbytes(tensors: list[torch.Tensor]) -> int:
    return sum(tensor.nbytes for tensor in tensors)
