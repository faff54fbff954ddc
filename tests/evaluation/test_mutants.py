"""Problems are checked too: one that accepts a lazy kernel cannot tell right from wrong."""

from __future__ import annotations

import pytest

from treesearch import problem
from treesearch.evaluation import mutants

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


def accepted(formula: str) -> set[str]:
    """Mutants that a problem with that formula lets pass."""
    report = mutants.check(problem.from_source("degenerate", DEGENERATE.replace("FORMULA", formula)))
    return {verdict.mutant for verdict in report.verdicts if not verdict.rejected}


@pytest.mark.parametrize("name", ["bias_silu_clamp", "softmax_small", "depthwise_conv2d_small"])
def test_every_shipped_problem_rejects_every_mutant(name: str) -> None:
    subject = problem.load(name)
    report = mutants.check(subject)
    assert [verdict.mutant for verdict in report.verdicts if not verdict.rejected] == []
    assert {"zeros", "the output's mean", "the previous call's output"} <= {each.mutant for each in report.verdicts}
    assert (report.oracle, report.skipped) == ("float64", ())


LARGE = """
    attention_fp16 conv2d conv2d_relu_maxpool cross_entropy cumsum depthwise_conv2d layernorm matmul_fp16 matmul_fp32
    softmax
"""


@pytest.mark.gpu
@pytest.mark.parametrize("name", LARGE.split())
def test_every_large_problem_rejects_every_mutant(name: str) -> None:
    report = mutants.check(problem.load(name))
    assert [verdict.mutant for verdict in report.verdicts if not verdict.rejected] == []
    assert len(report.verdicts) >= 2
    assert (report.oracle, report.skipped) == ("float64", ())


def test_the_mean_of_a_single_number_is_no_mutant() -> None:
    assert accepted("(x * self.scale).square().sum()") == set()


def test_a_sound_formula_lets_nothing_pass() -> None:
    assert accepted("x * self.scale") == set()


@pytest.mark.parametrize(
    ("formula", "passing"),
    [
        ("x * self.scale * 0", {"zeros", "the output's mean", "the previous call's output", "without scale"}),
        ("x * 0 + self.scale * 0 + 3", {"the output's mean", "the previous call's output", "without scale"}),
        ("x + 1e-6 * self.scale", {"the input x", "without scale"}),
        ("torch.relu(x) + 0 * self.scale", {"without scale"}),
    ],
)
def test_a_problem_that_a_lazy_kernel_solves_is_found_out(formula: str, passing: set[str]) -> None:
    assert accepted(formula) == passing
