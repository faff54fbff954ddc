"""A live reference: where its tensors live, what it may define beside KernelBench's names, and what is random."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tests.problem.conftest import source_of
from treesearch import problem
from treesearch.errors import ProblemError
from treesearch.problem.reference import Reference, assign, buffers, convert, weights
from treesearch.records import Problem

Make = Callable[..., Problem]

LAYERED = source_of(
    "x, mask: return self.net(x) * self.table + torch.arange(8) * mask",
    "torch.randn(4, 8), torch.from_numpy(np.ones(8))",
    "self.net = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8)); self.table = torch.rand(8)",
    "import numpy as np",
)
"""Holds tensors of every kind, and makes one in each function."""


def held(reference: Reference, seed: int = 3) -> list[torch.Tensor]:
    """Everything that a reference makes from one seed."""
    model, inputs = reference.model(seed), reference.inputs(seed)
    tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
    outputs = reference.forward(model, inputs)
    return [*weights(model).values(), *buffers(model).values(), *tensors, *outputs]


@pytest.mark.parametrize("device", ["cpu", "meta", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_all_tensors_live_on_the_device(device: str) -> None:
    tensors = held(Reference("layered", LAYERED, device))
    assert len(tensors) == 11
    assert {tensor.device.type for tensor in tensors} == {device}


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_equal_seeds_draw_equal_tensors_and_leave_the_random_state_alone(device: str) -> None:
    reference = Reference("layered", LAYERED, device)
    state = torch.random.get_rng_state()
    first, again, other = held(reference), held(reference), held(reference, 4)
    assert all(map(torch.equal, first, again))
    assert not all(map(torch.equal, first, other))
    assert torch.equal(state, torch.random.get_rng_state())


@pytest.mark.parametrize(
    ("inputs", "init"),
    [
        ("torch.randn(4, 8, generator=torch.Generator().manual_seed(7))", "pass"),
        ("torch.randn(4, int(torch.full((), 8)))", "pass"),
        ("torch.randn(4, 8, device='cpu')", "pass"),
        ("torch.randn(4, 8)", "self.k = nn.Parameter(torch.ones(int(torch.full((), 8))))"),
        ("torch.randn(4, 8)", "self.k = torch.ones(8, device='cpu')"),
    ],
)
def test_what_cannot_be_made_on_the_device_is_made_on_the_cpu_and_moved(inputs: str, init: str) -> None:
    tensors = held(Reference("moved", source_of("x: return getattr(self, 'k', 1) * x", inputs, init), "meta"))
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    assert tensors[-1].shape == (4, 8)


def test_what_fails_everywhere_is_reported_with_its_line() -> None:
    reference = Reference("failing", source_of("x: return x", "1 / 0"), "meta")
    with pytest.raises(ProblemError, match=r"get_inputs\(\) raised ZeroDivisionError at line"):
        reference.inputs(0)


def test_a_reference_on_another_device_does_not_run_its_code_again(capsys: pytest.CaptureFixture[str]) -> None:
    reference = Reference("loud", source_of("x: return x", "torch.randn(4)", extra="print('here')"))
    assert (reference.on("meta").device, reference.device) == ("meta", "cpu")
    assert capsys.readouterr() == ("", "here\n")


# ── STRESS ──────────────────────────────────────────────────────────────────────────────────────


def stressing(declared: str) -> str:
    return f"STRESS = {declared}"


def test_a_problem_without_stress_of_its_own_has_none() -> None:
    assert Reference("plain", source_of("x: return x", "torch.randn(4)")).stress == {}


def test_layernorm_is_stressed_with_inputs_far_from_zero() -> None:
    stress = Reference("layernorm", problem.load("layernorm").source).stress
    assert list(stress) == ["1000 ± 0.1"]
    changed = stress["1000 ± 0.1"](torch.tensor([-1.0, 0.0, 2.0]))
    assert torch.equal(changed, torch.tensor([999.9, 1000.0, 1000.2]))


def test_random_stress_is_the_same_each_time_and_follows_the_device() -> None:
    source = source_of("x: return x", "torch.randn(4)", extra=stressing("{'noise': lambda x: x + torch.randn(4)}"))
    reference = Reference("noisy", source)
    first, again = (reference.stress["noise"](torch.ones(4)) for _ in range(2))
    assert torch.equal(first, again)
    assert not torch.equal(first, torch.ones(4))
    assert reference.on("meta").stress["noise"](torch.ones(4, device="meta")).device.type == "meta"


@pytest.mark.parametrize("inputs", ["torch.randn(4)", "torch.randn(2**20, 2**18)"])
@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ("[abs]", "STRESS of handmade is a list; it must be a dict of functions"),
        ("{'half': 0.5}", "STRESS of handmade maps 'half' to 0.5; it maps names to functions"),
        ("{'': abs}", "STRESS of handmade maps '' to <built-in function abs>"),
        ("{3: abs}", "STRESS of handmade maps 3 to"),
        ("{'bad': lambda x: 1 / 0}", "handmade: STRESS['bad'] raised ZeroDivisionError at line"),
        ("{'none': lambda x: None}", "STRESS['none'] of handmade returns a NoneType, not a tensor"),
        ("{'short': lambda x: x[:1]}", "STRESS['short'] of handmade makes shape (1,"),
    ],
)
def test_malformed_stress_is_refused(handmade: Make, inputs: str, declared: str, told: str) -> None:
    with pytest.raises(ProblemError) as caught:
        handmade("x: return x + 1", inputs, extra=stressing(declared))
    assert told in str(caught.value)


def test_stress_may_look_at_the_values_of_a_small_problem(handmade: Make) -> None:
    declared = "{'scaled': lambda x: x / x.abs().max().item()}"
    assert handmade("x, at: return x[at]", "torch.randn(4, 4), torch.tensor([1])", extra=stressing(declared))


# ── oracle ──────────────────────────────────────────────────────────────────────────────────────


def small_attention() -> Reference:
    source = problem.load("attention_fp16").source
    for name, size in {"batch": (8, 2), "heads": (16, 3), "tokens": (4096, 64), "width": (128, 16)}.items():
        line = f"\n{name} = {size[0]}\n"
        assert source.count(line) == 1
        source = source.replace(line, f"\n{name} = {size[1]}\n")
    return Reference("attention", source)


def test_attention_in_slices_is_the_float64_forward() -> None:
    reference = small_attention()
    drawn = [value for value in reference.inputs(1) if isinstance(value, torch.Tensor)]
    assert [tensor.shape for tensor in drawn] == [(2, 3, 64, 16)] * 3
    q, k, v = (tensor.double() for tensor in drawn)
    [answer] = reference.exact(reference.model(0), [q, k, v])
    [plain] = reference.forward(reference.model(0), [q, k, v])
    by_hand = torch.softmax(q @ k.mT / 4, dim=-1) @ v
    assert answer.dtype == torch.float64
    assert torch.allclose(answer, plain, rtol=1e-12, atol=1e-14)
    assert torch.allclose(answer, by_hand, rtol=1e-12, atol=1e-14)


def test_without_an_oracle_the_exact_answer_is_the_forward_of_a_converted_model() -> None:
    reference = Reference("plain", source_of("x: return self.f(x)", "torch.randn(4, 8)", "self.f = nn.Linear(8, 8)"))
    model = reference.model(0)
    convert(model, lambda tensor: tensor.double())
    x = torch.randn(4, 8, dtype=torch.float64)
    [answer] = reference.exact(model, [x])
    assert torch.equal(answer, reference.forward(model, [x])[0])
    assert answer.dtype == torch.float64


@pytest.mark.parametrize(
    ("oracle", "told"),
    [
        ("oracle = 3", "oracle of handmade is a int; it must be a function"),
        ("def oracle(model, x): return model(x)[:-1]", "oracle of handmade gives shapes"),
        ("def oracle(model, x): return model(x), x", "oracle of handmade gives shapes"),
        ("def oracle(model, x): return None", "oracle of handmade returns a NoneType; only tensors"),
        ("def oracle(model, x): return y", "handmade: oracle raised NameError at line"),
        ("def oracle(x): return x", "handmade: oracle raised TypeError"),
    ],
)
@pytest.mark.parametrize("inputs", ["torch.randn(4)", "torch.randn(2**38)"])
def test_a_malformed_oracle_is_refused(handmade: Make, inputs: str, oracle: str, told: str) -> None:
    with pytest.raises(ProblemError) as caught:
        handmade("x: return x * self.k", inputs, "self.k = nn.Parameter(torch.ones(1))", oracle)
    assert told in str(caught.value)


def test_an_oracle_with_another_answer_is_refused_where_it_can_be_tried(handmade: Make) -> None:
    forward, inputs, init = "x: return x * self.k", "torch.randn(4)", "self.k = nn.Parameter(torch.ones(1) / 3)"
    assert handmade(forward, inputs, init, "def oracle(model, x): return x * model.k")
    with pytest.raises(ProblemError, match="oracle of handmade gives another answer than forward does in float64"):
        handmade(forward, inputs, init, "def oracle(model, x): return x * model.k.float() * 1.00001")


def test_an_oracle_sees_the_weights_that_were_assigned() -> None:
    source = source_of(
        "x: return x * self.k",
        "torch.randn(4)",
        "self.k = nn.Parameter(torch.ones(1))",
        "def oracle(model, x): return x * model.k",
    )
    reference = Reference("assigned", source)
    model = reference.model(0)
    assign(model, {"k": torch.tensor([5.0], dtype=torch.float64)})
    assert torch.equal(reference.exact(model, [torch.ones(4).double()])[0], torch.full((4,), 5.0).double())
