"""What a module's answers may be in, and what a call has to leave as it was."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from tests.problem.conftest import source_of
from treesearch import problem
from treesearch.evaluation.open import contract, start
from treesearch.evaluation.open.contract import Answers, Belongings, Broken

X = torch.arange(12.0).reshape(3, 4)


def squares() -> torch.Tensor:
    return X * X


SEEN: dict[str, tuple[Callable[[], object], Answers]] = {
    "a tensor": (squares, Answers(True)),
    "one of several": (lambda: (squares(),), Answers(False)),
    "a view of the input": (lambda: X.t(), Answers(True, given=[0])),
    "one row for all": (lambda: squares()[:1].expand(3, 4), Answers(True, spread=[0])),
    "twice the same": (lambda: [squares()] * 2, Answers(False, meeting=[[0, 1]])),
    "parts": (lambda: torch.split(squares(), [1, 2]), Answers(False)),
    "columns": (lambda: (lambda y: (y[:, ::2], y[:, 1::2]))(squares()), Answers(False, meeting=[[0, 1]])),
    "nothing": (lambda: None, Answers(True)),
    "no elements": (lambda: (X[:0], X[:0]), Answers(False)),
}


@pytest.mark.parametrize(("returned", "seen"), SEEN.values(), ids=SEEN.keys())
def test_what_answers_are_in_is_seen(returned: Callable[[], object], seen: Answers) -> None:
    assert Answers.of(returned(), [X, 3, X.new_empty(0)]) == seen


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (lambda: [squares()], "forward returns a list, and the reference a tensor"),
        (lambda: X.t(), "output 0 is in memory of an input"),
        (lambda: squares()[:1].expand(3, 4), "elements of output 0 share memory"),
    ],
)
def test_what_the_reference_does_not_do_is_refused(returned: Callable[[], object], said: str) -> None:
    with pytest.raises(Broken, match=said):
        contract.refuse(returned(), [X], Answers(True).encoded())
    contract.refuse(returned(), [X], None)  # nothing is known of the reference
    contract.refuse(returned(), [X], Answers.of(returned(), [X]).encoded())  # it does so itself


def test_two_answers_have_elements_in_common_only_if_writing_to_one_changes_the_other() -> None:
    wanted = Answers(False).encoded()
    for dtype in (torch.float32, torch.int64, torch.bool):
        y = squares().to(dtype)
        contract.refuse((y[:, ::2], y[:, 1::2]), [X], wanted)
        with pytest.raises(Broken, match="outputs 0 and 1 have memory in common"):
            contract.refuse((y, y[1:].t()), [X], wanted)
    with torch.inference_mode():
        y = squares()
    with pytest.raises(Broken, match="outputs 0 and 1 have memory in common"):
        contract.refuse((y, y), [X], wanted)


def reference_of(body: str) -> dict[str, Any] | None:
    subject = problem.from_source("subject", source_of(body, "torch.randn(3, 4)"))
    answers: dict[str, Any] | None = start.told(subject, "cpu")["answers"]
    return answers


def test_the_references_answers_are_known_without_data() -> None:
    assert reference_of("x: return x.t()") == Answers(True, given=[0]).encoded()
    assert reference_of("x: return x.t().contiguous()") == Answers(True).encoded()
    assert reference_of("x: return (y := x + 1), y[1:]") == Answers(False, meeting=[[0, 1]]).encoded()
    assert reference_of("x: return x * (2 if x.sum().item() > 0 else 1)") is None


CHANGES: dict[str, tuple[Callable[[nn.Linear, torch.Tensor], object], str]] = {
    "weights elsewhere": (lambda model, x: setattr(model.weight, "data", torch.zeros(2, 4)), "weight"),
    "gradients": (lambda model, x: setattr(model.bias, "grad", torch.ones(2)), "bias"),
    "frozen": (lambda model, x: model.weight.requires_grad_(False), "weight"),
    "input elsewhere": (lambda model, x: setattr(x, "data", torch.zeros(3, 4)), "input 1"),
    "transposed": (lambda model, x: x.t_(), "input 1"),
    "leaf": (lambda model, x: x.requires_grad_(), "input 1"),
}


@pytest.mark.parametrize(("change", "named"), CHANGES.values(), ids=CHANGES.keys())
def test_a_call_leaves_the_callers_tensors_alone(
    change: Callable[[nn.Linear, torch.Tensor], object], named: str
) -> None:
    model, x = nn.Linear(4, 2), torch.randn(3, 4)
    belongings = Belongings(model, [[3, x], [3, torch.randn(3, 4)]])
    x.add_(1)  # contents are looked at elsewhere
    belongings.refuse_changes()
    change(model, x)
    with pytest.raises(Broken, match=f"a call changes {named}:"):
        belongings.refuse_changes()


def test_modes_are_torchs_and_the_models() -> None:
    model = nn.Linear(4, 2)
    before = contract.modes(model)
    with torch.no_grad():
        assert contract.modes(model) != before
    model.eval()
    assert contract.modes(model) != before
    model.train().bias.requires_grad_(False)
    assert contract.modes(model) != before
    model.requires_grad_(True)
    assert contract.modes(model) == before


def mapped_twice() -> torch.Tensor:
    """Two pages at four addresses."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
    access, size = mmap.PROT_READ | mmap.PROT_WRITE, 2 * mmap.PAGESIZE
    source = libc.mmap(None, size, access, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS, -1, 0)
    twice = libc.mmap(None, 2 * size, access, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    for place in (twice, twice + size):
        assert libc.mremap(source, 0, size, 1 | 2, place) == place  # MREMAP_MAYMOVE | MREMAP_FIXED
    return torch.frombuffer((ctypes.c_uint8 * (2 * size)).from_address(twice), dtype=torch.float32)


@pytest.mark.parametrize("shape", [(-1,), (16, -1), (4, 8, -1)])
def test_memory_under_several_addresses_is_one(shape: tuple[int, ...]) -> None:
    flat = mapped_twice()
    flat[0] = 7
    assert flat[flat.numel() // 2] == 7
    with pytest.raises(contract.Broken, match="one piece of memory under several addresses"):
        contract.refuse(flat.view(shape), [X], Answers(True).encoded())
    half = flat.numel() // 2
    with pytest.raises(contract.Broken, match="one piece of memory under several addresses"):
        contract.refuse((flat[:half].view(shape), flat[half:].clone(), flat[half:]), [X], Answers(False).encoded())
    contract.refuse((flat[:half].view(shape), flat[half:].clone()), [X], Answers(False).encoded())


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.float16, torch.float64, torch.complex64])
def test_outputs_of_every_kind_and_form_are_apart(dtype: torch.dtype) -> None:
    whole = torch.zeros(3, 5, 4096, dtype=dtype)
    answers = whole, whole.clone().transpose(0, 2), whole.clone()[:, :, ::3], whole[:, :, 0].sum(), whole[:0].clone()
    contract.refuse(answers, [X], Answers(False).encoded())
