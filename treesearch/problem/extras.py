"""The names that a problem may define beside KernelBench's, tried before anything is judged by them."""

from __future__ import annotations

import linecache

import torch

from treesearch.errors import ProblemError
from treesearch.problem import libraries
from treesearch.problem.reference import Reference, Value, convert


def check(reference: Reference, inputs: list[Value], outputs: list[torch.Tensor]) -> None:
    """Try STRESS and `oracle` on inputs and outputs of the reference, which on the meta device have no data.

    LIBRARIES is only compared: it is read from the source without running it.

    Raises ProblemError for one that fails or gives something of another shape, and for an oracle whose answer is
    not that of a float64 forward: with a wrong one, every kernel would be wrong, or every one right.
    """
    _check_libraries(reference)
    for change in reference.stress.values():
        for value in inputs:
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                change(value.float())
    if reference.has_oracle:
        _check_oracle(reference, inputs, outputs)


def _check_libraries(reference: Reference) -> None:
    """What the source says has to be what running it gives, lest a reader take it for something else."""
    written = libraries.allowed("".join(linecache.getlines(str(reference.module.__file__))))
    if tuple(getattr(reference.module, libraries.NAME, ())) != written:
        raise ProblemError(f"{libraries.NAME} of {reference.name} is set more than once, or by more than a list.")


def _check_oracle(reference: Reference, inputs: list[Value], outputs: list[torch.Tensor]) -> None:
    model = reference.model(0)
    convert(model, _double)
    wide = [_double(value) if isinstance(value, torch.Tensor) else value for value in inputs]
    answers = reference.exact(model, wide)
    gave, wanted = ([tuple(each.shape) for each in tensors] for tensors in (answers, outputs))
    if gave != wanted:
        raise ProblemError(f"oracle of {reference.name} gives shapes {gave}; forward gives {wanted}.")
    if reference.device == "meta":
        return
    try:
        plain = reference.forward(model, wide)
    except ProblemError:  # it does not run in float64, so there is nothing to compare with
        return
    for answer, expected in zip(answers, plain, strict=True):
        if not torch.allclose(answer.double(), expected.double(), rtol=1e-6, atol=1e-9, equal_nan=True):
            raise ProblemError(f"oracle of {reference.name} gives another answer than forward does in float64.")


def _double(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double() if tensor.is_floating_point() else tensor
