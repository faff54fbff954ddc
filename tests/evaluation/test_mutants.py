"""Problems are checked too: one that accepts a lazy kernel cannot tell right from wrong."""

from __future__ import annotations

import pytest

from treesearch import problem
from treesearch.evaluation import mutants
from treesearch.evaluation.mutants import Report

REPLAYED = {"the output's mean", "the previous call's output", "the first call's output"}
IGNORED = {"without scale", "half of scale along 0", "scale of the first call"}
EVERYWHERE = REPLAYED | {"zeros", "ones", "negated", "off by one element", "off by one row", "the first row everywhere"}

DEGENERATE = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(64))

    def forward(self, x):
        return FORMULA

def get_inputs():
    return [torch.randn(32, 64)]

def get_init_inputs():
    return []
"""


OTHER = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, FORWARD

def get_inputs():
    return [INPUTS]

def get_init_inputs():
    return []
"""


def tried(formula: str) -> Report:
    """What becomes of mutants of a problem with that formula."""
    return mutants.check(problem.from_source("degenerate", DEGENERATE.replace("FORMULA", formula)))


def other(forward: str, drawn: str = "torch.randn(32, 64)") -> Report:
    return mutants.check(problem.from_source("other", OTHER.replace("FORWARD", forward).replace("INPUTS", drawn)))


def accepted(formula: str) -> set[str]:
    """Mutants that a problem with that formula lets pass."""
    return set(tried(formula).passed)


@pytest.mark.parametrize("name", ["bias_silu_clamp", "softmax_small", "depthwise_conv2d_small"])
def test_every_shipped_problem_rejects_every_mutant(name: str) -> None:
    report = mutants.check(problem.load(name))
    assert report.passed == ()
    assert {each.mutant for each in report.verdicts} >= EVERYWHERE | {"the input x", "half of x along 1"}
    assert (report.oracle, report.skipped, report.right) == ("float64", (), ())


LARGE = """
    attention_fp16 conv2d conv2d_relu_maxpool cross_entropy cumsum depthwise_conv2d layernorm matmul_fp16 matmul_fp32
    softmax
"""
LEFT_OUT = dict.fromkeys(("cumsum", "matmul_fp16", "matmul_fp32"), ("close", "below"))
"""Kinds of stress whose answers would be too large: sums of thousands of terms that all have one sign."""


@pytest.mark.gpu
@pytest.mark.parametrize("name", LARGE.split())
def test_every_large_problem_rejects_every_mutant(name: str) -> None:
    report = mutants.check(problem.load(name))
    assert report.passed == ()
    assert len(report.verdicts) >= 8
    assert (report.oracle, report.skipped) == ("float64", LEFT_OUT.get(name, ()))


def test_a_single_number_has_neither_mean_nor_halves() -> None:
    report = tried("(x * self.scale).square().sum()")
    assert report.passed == ()
    assert {each.mutant for each in report.verdicts} == {
        *("zeros", "ones", "negated", "the previous call's output", "the first call's output"),
        *("half of x along 0", "half of x along 1", "x of the first call"),
        *("without scale", "half of scale along 0", "scale of the first call"),
    }


def test_a_sound_formula_lets_nothing_pass() -> None:
    report = tried("x * self.scale")
    assert (report.passed, report.right) == ((), ())


@pytest.mark.parametrize(
    ("formula", "passing"),
    [
        ("x * self.scale * 0", {"zeros", *REPLAYED, "without scale"}),
        ("x * 0 + self.scale * 0 + 3", {*REPLAYED, "without scale"}),
        ("x + 1e-9 * self.scale", {"the input x", *IGNORED}),
        ("torch.relu(x) + 0 * self.scale", {"without scale"}),
    ],
)
def test_a_problem_that_a_lazy_kernel_solves_is_found_out(formula: str, passing: set[str]) -> None:
    assert accepted(formula) == passing


def test_a_mutant_that_does_what_the_reference_does_is_none() -> None:
    copied = other("x):\n        return x.clone()")
    assert (copied.passed, copied.right) == ((), ("the input x",))
    half_deaf = other("x):\n        return x[:, :32] * 2")
    assert (half_deaf.passed, half_deaf.right) == ((), ("half of x along 1",))
    broadcast = other("x):\n        return x.sum(1, keepdim=True).expand(-1, 64) * 1.0")
    assert (broadcast.passed, broadcast.right) == ((), ("each row's mean",))


def test_a_copy_is_no_right_answer_to_relu_though_the_inputs_are_never_negative() -> None:
    report = other("x):\n        return torch.relu(x)", "torch.rand(32, 64)")
    assert (report.passed, report.right) == (("the input x",), ())


def test_each_output_is_tried_on_its_own() -> None:
    report = other("x):\n        return x * 2, x * 1e-9 + 5")
    assert {name for name in report.passed if not name.endswith(" in out1")} == set()
    assert {"the output's mean in out1", "the previous call's output in out1"} <= set(report.passed)
    assert {"zeros in out0", "zeros in out1"} <= {each.mutant for each in report.verdicts if each.rejected}


def test_a_report_says_what_rejected_a_mutant_and_on_which_call() -> None:
    found = {each.mutant: each for each in other("x):\n        return x.log()", "torch.rand(32, 64) + 0.5").verdicts}
    assert (found["zeros"].by, found["zeros"].stratum) == ("rows", "nominal")
    assert found["half of x along 1"].by == "not finite"
    indices = {each.mutant: each for each in other("x):\n        return x.argmax(-1)").verdicts}
    assert {each.by for each in indices.values()} == {"values"}
    assert "off by one element" in indices


def test_a_wrong_element_of_a_long_row_is_found_by_the_elements() -> None:
    """Half of the weights of the last of many terms: too little beside the whole row, too much for the element."""
    grown = "x, y):\n        return torch.cat([x * 100, y.expand(32, 1)], 1)"
    found = {each.mutant: each for each in other(grown, "torch.randn(32, 4096), torch.randn(1, 1)").verdicts}
    assert (found["y of the first call"].by, found["y of the first call"].stratum) == ("elements", "nominal")


def test_mutants_that_only_stress_rejects_are_told_from_those_that_any_nominal_call_does() -> None:
    ones = DEGENERATE.replace("torch.randn(64)", "torch.ones(64)").replace("FORMULA", "x * self.scale")
    found = {each.mutant: each for each in mutants.check(problem.from_source("ones", ones)).verdicts}
    assert (found["scale of the first call"].by, found["scale of the first call"].stratum) == ("rows", "weights")
    assert found["scale of the first call"].plain
    assert found["the input x"].stratum == "weights"


def test_a_plain_allclose_lets_small_outputs_through() -> None:
    report = other("x):\n        return x * 1e-3", "torch.randn(32, 64)")
    assert report.passed == ()
    assert {"zeros", "negated", "the previous call's output", "half of x along 0"} <= set(report.plain)
    assert "ones" not in report.plain


def test_mutants_that_the_reference_refuses_are_left_out() -> None:
    picky = "x):\n        assert bool((x > 0).all())\n        return x * 2"
    report = other(picky, "torch.rand(32, 64) + 0.5")
    assert not [each for each in report.verdicts if each.mutant.startswith("half of x")]
    assert report.passed == ()
