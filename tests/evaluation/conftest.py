"""Evaluators that tests share: their baselines take seconds to compile."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

import pytest

from treesearch import languages, problem
from treesearch.evaluation.checks import Check
from treesearch.evaluation.evaluator import Evaluator
from treesearch.records import Evaluation, Problem, Protocol, Status

Judge = Callable[[str], Evaluation]

TINY = """
import torch
from torch import nn

class Model(nn.Module):
    @torch.compiler.disable
    def forward(self, x):
        return x * x + 1

def get_inputs():
    return [torch.randn(64, 128)]

def get_init_inputs():
    return []
"""
"""A problem that costs next to nothing, for what candidates do to their process rather than to their outputs."""

HONEST_TINY = """
#include "problem.h"
extern "C" int launch(const float* x, float* out, void*) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] * x[i] + 1;
    return 0;
}
"""


@pytest.fixture(scope="session")
def compiler() -> str:
    found = shutil.which("g++")
    if found is None:
        pytest.skip("g++ was not found, and this test builds kernels with it")
    return found


@pytest.fixture(scope="session")
def bias_silu_clamp(compiler: str) -> Iterator[Evaluator]:
    yield from shipped("bias_silu_clamp")


@pytest.fixture(scope="session")
def softmax_small(compiler: str) -> Iterator[Evaluator]:
    yield from shipped("softmax_small")


@pytest.fixture(scope="session")
def depthwise_conv2d_small(compiler: str) -> Iterator[Evaluator]:
    yield from shipped("depthwise_conv2d_small")


def shipped(name: str) -> Iterator[Evaluator]:
    subject = problem.load(name)
    protocol = Protocol(subject.tolerance, threads=2, nominal_calls=4, repeats=3)
    with Evaluator(subject, languages.CPP, protocol, seed=7) as evaluator:
        yield evaluator


@pytest.fixture(scope="session")
def tiny_problem() -> Problem:
    return problem.from_source("tiny", TINY)


@pytest.fixture(scope="session")
def tiny(compiler: str, tiny_problem: Problem) -> Iterator[Evaluator]:
    """An evaluator with a deadline short enough to wait for."""
    protocol = Protocol(tiny_problem.tolerance, deadline_seconds=3, threads=2, nominal_calls=4, repeats=3)
    with Evaluator(tiny_problem, languages.CPP, protocol, seed=7) as evaluator:
        yield evaluator


@pytest.fixture(scope="session")
def lenient(compiler: str, tiny_problem: Problem) -> Iterator[Evaluator]:
    """One that does not look at what a library imports, so that what comes after that can be attacked."""
    protocol = Protocol(tiny_problem.tolerance, deadline_seconds=3, threads=2, nominal_calls=4, repeats=3)
    imports = frozenset({Check.SYMBOLS})
    with Evaluator(tiny_problem, languages.CPP, protocol, seed=7, without=imports) as evaluator:
        yield evaluator


@pytest.fixture
def unwalled(compiler: str, tiny_problem: Problem) -> Iterator[Evaluator]:
    """One that lets a kernel write files and start processes, for what holds such a kernel even so."""
    protocol = Protocol(tiny_problem.tolerance, deadline_seconds=3, threads=2, nominal_calls=4, repeats=3)
    open_to = frozenset({Check.SYMBOLS, Check.FILES, Check.PROCESSES})
    with Evaluator(tiny_problem, languages.CPP, protocol, seed=7, without=open_to) as evaluator:
        yield evaluator


@pytest.fixture
def judge(lenient: Evaluator) -> Iterator[Judge]:
    """Judges a candidate for the tiny problem; whatever it did, an honest kernel must be verified afterwards."""
    yield lenient.evaluate
    after = lenient.evaluate(HONEST_TINY)
    assert after.status is Status.VERIFIED, after.error


@pytest.fixture
def honest() -> str:
    """A right kernel for the tiny problem."""
    return HONEST_TINY
