"""Problems too large to be tried: what is known of them without data, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tests.problem.conftest import source_of
from treesearch.errors import ProblemError
from treesearch.problem import memory
from treesearch.problem.reference import Reference
from treesearch.problem.rehearsal import LARGE_BYTES, LARGE_FLOPS, rehearse
from treesearch.records import Problem, Role

Make = Callable[..., Problem]

TERABYTE = "torch.randn(2**20, 2**18)"
"""More than any test machine holds, so that whoever touched it would fail for that."""
assert memory.total() < 4 * 2**20 * 2**18


def flops(forward: str, inputs: str, init: str = "pass") -> int | None:
    rehearsal = rehearse(Reference("counted", source_of(forward, inputs, init)))
    assert rehearsal is not None
    return rehearsal.operations


def test_a_problem_of_terabytes_is_loaded_without_its_data(handmade: Make) -> None:
    subject = handmade(
        "x, k: return nn.functional.gelu(self.f(x)) * k, x.sum(-1), x.argmax(-1)",
        f"{TERABYTE}, 3",
        "self.f = nn.Linear(2**18, 64); self.table = torch.ones(64)",
    )
    assert [(a.name, a.dtype, a.shape) for a in subject.signature.arguments] == [
        ("x", "float32", (2**20, 2**18)),
        ("k", "int64", ()),
        ("f_weight", "float32", (64, 2**18)),
        ("f_bias", "float32", (64,)),
        ("table", "float32", (64,)),
        ("out0", "float32", (2**20, 64)),
        ("out1", "float32", (2**20,)),
        ("out2", "int64", (2**20,)),
    ]
    assert subject.flops == 2 * 2**20 * 2**18 * 64


@pytest.mark.parametrize(
    ("forward", "told"),
    [
        ("x: x.add_(1); return x * 2", "changes its inputs in place"),
        ("x: x[0].zero_(); return x * 2", "changes its inputs in place"),
        ("x: return nn.functional.relu(x, inplace=True)", "changes its inputs in place"),
        ("x: return nn.functional.dropout(x, 0.5)", "is random: it draws numbers with aten.bernoulli_.float"),
        ("x: return x + torch.rand_like(x)", "is random: it draws numbers with aten.rand_like.default"),
        ("x: return x + torch.randn(2**18)", "is random: it draws numbers with aten.randn.default"),
        ("x: return x[x > 0]", "has shapes that depend on data (aten.index.Tensor)"),
        ("x: return torch.masked_select(x, x > 0)", "has shapes that depend on data (aten.masked_select.default)"),
        ("x: return x.nonzero()", "has shapes that depend on data (aten.nonzero.default)"),
        ("x: return x.unique()", "has shapes that depend on data (aten._unique2.default)"),
    ],
)
def test_a_large_problem_is_refused_for_what_a_small_one_would_be(handmade: Make, forward: str, told: str) -> None:
    with pytest.raises(ProblemError) as caught:
        handmade(forward, TERABYTE)
    assert told in str(caught.value)
    assert "handmade" in str(caught.value)


@pytest.mark.parametrize(
    ("inputs", "told"),
    [
        ("torch.randn(2**20, 2**18, dtype=torch.complex64)", "dtype torch.complex64; possible are float16"),
        (f"{TERABYTE}, 'mean'", "Input 'how' of handmade is a str"),
        (f"{TERABYTE}, None", "Input 'how' of handmade is a NoneType"),
    ],
)
def test_inputs_of_a_large_problem_are_as_restricted(handmade: Make, inputs: str, told: str) -> None:
    with pytest.raises(ProblemError) as caught:
        handmade("x, how=0: return x + 1", inputs)
    assert told in str(caught.value)


def test_shapes_that_a_large_problem_draws_by_lot_are_noticed(handmade: Make) -> None:
    with pytest.raises(ProblemError, match="other shapes or types on a second call"):
        handmade("x: return x", "torch.randn(2**20, next(sizes))", extra="sizes = iter(range(2**18, 2**19))")


def test_dropout_that_never_drops_is_not_random(handmade: Make) -> None:
    heads = "torch.randn(64, 64, 4096, 128, dtype=torch.float16)"
    subject = handmade("q: return nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=0.0)", heads)
    assert subject.signature.of(Role.OUTPUT)[0].shape == (64, 64, 4096, 128)


def test_indexing_by_numbers_has_a_known_shape(handmade: Make) -> None:
    subject = handmade("x, at: return x[at]", f"{TERABYTE}, torch.randint(0, 2**20, (512,))")
    assert subject.signature.of(Role.OUTPUT)[0].shape == (512, 2**18)


def test_in_place_work_on_intermediate_values_is_no_offence(handmade: Make) -> None:
    assert handmade("x: y = x + 1; y.mul_(2); return y.relu_()", TERABYTE).precision == "float32"


def test_a_small_problem_is_judged_by_what_it_does_on_data(handmade: Make) -> None:
    """Both offend on paper alone: nothing is dropped, and the shape inside never leaves."""
    nothing_dropped = handmade("x: return nn.functional.dropout(x, 0.0) + 0 * torch.rand_like(x)", "torch.randn(64)")
    inner_shape = handmade("x: return x[x > 0].sum()", "torch.randn(64)")
    assert nothing_dropped.signature.of(Role.OUTPUT)[0].shape == (64,)
    assert inner_shape.signature.of(Role.OUTPUT)[0].shape == ()
    assert inner_shape.flops is None


def test_what_does_not_run_without_data_is_tried_on_data(handmade: Make) -> None:
    subject = handmade("x: return x * x.max().item()", "torch.randn(64, 64)")
    assert (subject.signature.of(Role.OUTPUT)[0].shape, subject.flops) == ((64, 64), None)


def test_bytes_and_operations_each_make_a_problem_large() -> None:
    def large(forward: str, inputs: str) -> bool:
        rehearsal = rehearse(Reference("sized", source_of(forward, inputs)))
        assert rehearsal is not None
        return rehearsal.large

    half = LARGE_BYTES // 8
    assert not large("x: return x + 1", f"torch.randn({half})")
    assert large("x: return x + 1", f"torch.randn({half + 1})")
    side = round((LARGE_FLOPS / 2) ** (1 / 3))
    assert not large("x: return x @ x", f"torch.randn({side}, {side})")
    assert large("x: return x @ x", f"torch.randn({side + 1}, {side + 1})")


@pytest.mark.parametrize(
    ("forward", "inputs", "init", "expected"),
    [
        ("x, y: return x @ y", "torch.randn(5, 7), torch.randn(7, 3)", "pass", 2 * 5 * 7 * 3),
        ("x, y: return torch.einsum('bij,bjk->bik', x, y)", "torch.randn(4, 5, 7), torch.randn(4, 7, 3)", "pass", 840),
        ("x: return self.f(x)", "torch.randn(5, 7)", "self.f = nn.Linear(7, 3)", 2 * 5 * 7 * 3),
        ("x, y: return x @ y", "torch.randn(5, 7), torch.randn(7)", "pass", 2 * 5 * 7),
        ("x, y, z: return torch.addmv(z, x, y)", "torch.randn(5, 7), torch.randn(7), torch.randn(5)", "pass", 70),
        ("x, y: return x @ y", "torch.randn(7), torch.randn(7)", "pass", 2 * 7),
        ("x: return self.f(x)", "torch.randn(2, 3, 9, 9)", "self.f = nn.Conv2d(3, 4, 3)", 2 * 392 * 3 * 9),
        ("x: return self.f(x)", "torch.randn(2, 4, 9, 9)", "self.f = nn.Conv2d(4, 4, 3, groups=4)", 2 * 392 * 9),
        ("x: return self.f(x)", "torch.randn(2, 3, 9, 9)", "self.f = nn.ConvTranspose2d(3, 4, 3)", 2 * 162 * 3 * 36),
        (
            "q, k: return nn.functional.scaled_dot_product_attention(q, k, k)",
            "torch.randn(2, 3, 16, 8), torch.randn(2, 3, 24, 8)",
            "pass",
            2 * 2 * (2 * 3) * 16 * 24 * 8,
        ),
        ("x: return torch.softmax(x, -1).cumsum(-1) + 1", "torch.randn(5, 7)", "pass", 0),
    ],
)  # fmt: skip
def test_a_multiply_add_counts_as_two_operations(forward: str, inputs: str, init: str, expected: int) -> None:
    assert flops(forward, inputs, init) == expected


def test_a_rehearsal_leaves_the_random_state_alone() -> None:
    state = torch.random.get_rng_state()
    assert flops("x: return x @ x", "torch.randn(4, 4)") == 128
    assert torch.equal(state, torch.random.get_rng_state())
